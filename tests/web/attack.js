// What a hostile page on another port tries; every answer should be "failed".
async ([base, token]) => {
  const said = {};
  const attempt = async (name, run) => {
    try {
      said[name] = await run();
    } catch {
      said[name] = "failed";
    }
  };
  const read = (path, options) => async () => {
    const answer = await fetch(base + path, options);
    return answer.type + answer.status + (await answer.text());
  };
  const headers = { "X-Wcore-Token": token };
  await attempt("page", read("/", { credentials: "include" }));
  await attempt("script", read("/static/app.js"));
  await attempt("events", read("/api/events", { headers }));
  await attempt("post", read("/api/link", { method: "POST", headers, body: "{}" }));
  await attempt("enter", read("/api/enter", { method: "POST", body: "{}" }));
  await attempt("opaque", async () => (await fetch(`${base}/static/app.js`, { mode: "no-cors" })).type);
  await attempt("import", async () => {
    await import(`${base}/static/visible.js`);
    return "loaded";
  });
  await attempt("frame", () => {
    const frame = document.createElement("iframe");
    frame.src = `${base}/`;
    const looked = new Promise((done, failed) => {
      frame.onload = () => (frame.contentDocument ? done("read") : failed());
    });
    document.body.append(frame);
    return looked;
  });
  await attempt("stored", async () => {
    if (!document.cookie && !sessionStorage.length && !localStorage.length) throw new Error("nothing");
    return "something";
  });
  return said;
};
