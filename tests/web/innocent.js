// What of the page is not the page's own: elements, links and characters that a text has made.
() => ({
  pwned: window.pwned === undefined,
  foreign: [
    ...document.querySelectorAll(
      "main img, main script, main b, main iframe, [onerror], [onload], [onclick]",
    ),
  ].map((element) => element.outerHTML),
  links: [...document.querySelectorAll("a[href]")].map((link) => link.getAttribute("href")),
  hidden: /[\u200b\u202e\u2066\u3164\u0007\u001b]/.test(document.body.innerText),
});
