"""The history as one dialect sends it: every message is encoded once, when it is new.

Also keeps what providers insist on: each call has one result, right behind it, and only calls
have results.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from wcore.models import compaction
from wcore.models.attachments import Attached, Image, refusal_of
from wcore.models.dialect import EncodedMessage, Encoding
from wcore.models.message_log import MessageLog
from wcore.models.window import BYTES_PER_TOKEN, MARKER, Cut, Entry, EntryKind, fit
from wcore.vocabulary import AssistantMessage, Message, Status, ToolMessage, ToolOutput, UserMessage

OWNER: Final = "for"  # in a reply's `provider_state`: who alone may be sent it
IMAGE_TOKENS: Final = 1_600  # what a large picture costs, however many bytes it has
SMALL_IMAGE_CHARS_MAX: Final = (
    512 * 1024
)  # in base64; no provider that takes images refuses it for its size
LOST: Final = "no result: the call was interrupted"
CORRECTION_MIN: Final = 0.4  # of our estimate; a reported number beyond is not believed
CORRECTION_MAX: Final = 4.0  # one byte a token


class FittedHistory(Struct, frozen=True):
    """What of the history goes out. `gone` are the pieces that did before and now do not."""

    pieces: Sequence[EncodedMessage]
    is_cut: bool = False
    gone: Sequence[EncodedMessage] = ()
    gone_tokens: float = 0.0


class EncodedHistory:
    """The messages of one conversation, encoded, and what of them still goes out."""

    def __init__(self, dialect: Encoding, owner: str = "") -> None:
        self._dialect = dialect
        self._owner = owner
        self._messages: list[Message] = []
        self._growing: MessageLog | None = None  # which the messages are the beginning of
        self._attached: dict[int, Attached] = {}
        self._context: list[str] = []
        self._open: list[str] = []  # calls that wait for their result
        self._sources: list[Message] = []  # what each piece was made from
        self._pieces: list[EncodedMessage] = []
        self._entries: list[Entry] = []
        self._tokens = 0  # of the entries that go out
        self._cut = Cut()
        self._summary = ""
        self._first: Message | None = None  # carries the summary of what came before it
        self._correction = 1.0
        self._shows_images = dialect.takes_images
        self._sends_seals: bool = True
        self._refused: set[tuple[int, int]] = set()  # images, by message and number in it
        self._taken = 0  # pieces that were part of a request which was answered

    def new(self, messages: Sequence[Message]) -> Sequence[Message]:
        """Return the messages not taken yet; another conversation makes all of them new."""
        if messages is not self._growing and not self._begin(messages):
            self._forget()
        self._growing = messages if isinstance(messages, MessageLog) else None
        return messages[len(self._messages) :]

    def _begin(self, messages: Sequence[Message]) -> bool:
        known = self._messages
        return len(messages) >= len(known) and all(
            ours is theirs for ours, theirs in zip(known, messages, strict=False)
        )

    def _forget(self) -> None:
        learnt = self._correction, self._shows_images, self._sends_seals
        self.__init__(self._dialect, self._owner)
        self._correction, self._shows_images, self._sends_seals = learnt

    def uncut(self) -> None:
        """Send everything again that was ever cut off."""
        messages, attached, known = self._messages, self._attached, (self._refused, self._taken)
        self._forget()
        self._refused, self._taken = known
        for message in messages:
            self.take(message, attached.get(id(message)))

    def take(self, message: Message, attached: Attached | None = None) -> None:
        """Encode one more message."""
        self._messages.append(message)
        if attached is not None:
            self._attached[id(message)] = attached  # the message is kept, so is its id
        if isinstance(message, ToolMessage):
            if message.call_id in self._open:
                self._open.remove(message.call_id)
                self._add(message)
            return
        self._close_calls()
        if isinstance(message, UserMessage) and message.context and not self._pieces:
            self._context.append(message.text)
            return
        self._add(message)
        if isinstance(message, AssistantMessage):
            self._open = [call_id for call_id, _ in message.calls]

    def _close_calls(self) -> None:
        for call_id in self._open:
            self._add(ToolMessage(call_id, "", ToolOutput.failed(LOST)))
        self._open = []

    def _add(self, message: Message) -> None:
        piece = self._piece(message)
        if piece.body:
            kind = _kind(message)
            tokens = _tokens(piece)
            short = len(MARKER) // BYTES_PER_TOKEN if kind is EntryKind.OUTPUT else tokens
            self._sources.append(message)
            self._pieces.append(piece)
            self._entries.append(Entry(kind, tokens, min(short, tokens)))
            self._tokens += tokens

    def _piece(self, message: Message) -> EncodedMessage:
        match message:
            case UserMessage():
                return self._user(message)
            case AssistantMessage():
                is_ours = self._sends_seals and _owner(message) == self._owner
                return self._dialect.assistant(
                    message if is_ours else replace(message, provider_state=None)
                )
            case ToolMessage():
                return self._result(message)

    def _user(self, message: UserMessage) -> EncodedMessage:
        if message.context:
            return self._dialect.user(f"<context>\n{message.text}\n</context>", ())
        attached = self._attached.get(id(message))
        text, images = message.text, ()
        if attached is not None:
            problems = [self._why_not(message, at) for at in range(len(attached.images))]
            named = list(zip(attached.images, problems, strict=True))
            images = [image for image, problem in named if not problem]
            notes = [f"[{image.name}: {problem}]" for image, problem in named if problem]
            text = "\n".join([f"{text}\n\n{attached.note}".strip(), *notes])
        if message is self._first and self._summary:
            text = compaction.framed(self._summary, text)
        return self._dialect.user(text, images)

    def _why_not(self, message: Message, number: int) -> str:
        """Return why an image of a message does not go out; empty if it does."""
        if not self._shows_images:
            return "not shown, this model cannot see images"
        return "left out, the provider refused it" if (id(message), number) in self._refused else ""

    def _result(self, message: ToolMessage) -> EncodedMessage:
        image, output = _image_of(message), message.output
        if image is None:
            return self._dialect.result(message.call_id, output, None)
        if problem := self._why_not(message, 0) or refusal_of(image):
            output, image = ToolOutput(Status.SUCCESS, f"[an image: {problem}]"), None
        return self._dialect.result(message.call_id, output, image)

    @property
    def has_calls(self) -> bool:
        """Whether any message has calls."""
        replies = (m for m in self._messages if isinstance(m, AssistantMessage))
        return any(reply.calls for reply in replies)

    # --- what goes out ------------------------------------------------------------------------

    def system(self, prompt: str) -> str:
        """Return the system prompt with the context that came before the first message."""
        return "\n\n".join(text for text in (prompt, *self._context) if text)

    def fitted(self, window_tokens: float, frame_tokens: float) -> FittedHistory:
        """Return what to send; `frame_tokens` estimates what goes around the history."""
        self._close_calls()
        room_tokens = window_tokens / self._correction - frame_tokens
        cut = (
            self._cut if self._tokens <= room_tokens else fit(self._entries, room_tokens, self._cut)
        )
        before = self._cut
        for at in range(before.shortened, cut.shortened):
            self._shorten(at)
        self._cut = cut
        if cut != before:
            self._tokens = sum(entry.tokens for entry in self._entries[cut.dropped :])
        left = slice(before.dropped, cut.dropped)
        gone_tokens = self._correction * sum(entry.tokens for entry in self._entries[left])
        is_cut = cut != before
        return FittedHistory(self._pieces[cut.dropped :], is_cut, self._pieces[left], gone_tokens)

    def sum_up(self, summary: str) -> Sequence[EncodedMessage]:
        """Put a summary of what was cut off before the first message that goes out.

        It is part of what the next summary is made from. Returns what to send now.
        """
        at = self._cut.dropped
        self._summary, self._first = summary, self._sources[at]
        self._tokens -= self._entries[at].tokens
        self._pieces[at] = self._piece(self._sources[at])
        self._entries[at] = replace(self._entries[at], tokens=_tokens(self._pieces[at]))
        self._tokens += self._entries[at].tokens
        return self._pieces[at:]

    def can_cut(self, window_tokens: float, frame_tokens: float) -> bool:
        """Whether anything can still be cut off to fit."""
        room_tokens = window_tokens / self._correction - frame_tokens
        return fit(self._entries, room_tokens, self._cut) != self._cut

    def _shorten(self, at: int) -> None:
        source = self._sources[at]
        if isinstance(source, ToolMessage):
            output = ToolOutput(source.output.status, MARKER)
            self._sources[at] = replace(source, output=output)
            self._pieces[at] = self._dialect.result(source.call_id, output, None)
            self._entries[at] = replace(self._entries[at], tokens=self._entries[at].short_tokens)

    def tokens(self, frame_tokens: float) -> float:
        """Return what the provider will probably count for the whole request."""
        return self._correction * (self._tokens + frame_tokens)

    def learn(self, counted_tokens: int, frame_tokens: float) -> None:
        """Note that what was sent was taken; correct the estimate by what the provider counted."""
        self._taken = len(self._pieces)
        guess = self._tokens + frame_tokens
        if counted_tokens > 0 and guess > 0:
            self._correction = min(CORRECTION_MAX, max(CORRECTION_MIN, counted_tokens / guess))

    # --- what a provider refuses --------------------------------------------------------------

    def drop_seals(self) -> bool:
        """Send no sealed parts of replies any more; return whether that changes anything."""
        self._sends_seals = False
        return self._encode_again(self._replies())

    def send_thinking(self) -> bool:
        """Send the thinking of earlier replies as well; return whether that changes anything."""
        return self._dialect.send_thinking() and self._encode_again(self._replies())

    def _replies(self) -> list[int]:
        sources = enumerate(self._sources)
        return [at for at, source in sources if isinstance(source, AssistantMessage)]

    def drop_image(self, *, may_be_all: bool) -> str | None:
        """Leave out an image, the largest of those that were never taken; else the largest.

        Returns its name. `None`: there is none.

        Empty: none is sent any more. That is so where `may_be_all`, and it was the only one, and
        small: then it was refused for being an image.
        """
        sent = [
            (at >= self._taken, len(image.data), (id(source), number), at, image)
            for at, source in enumerate(self._sources)
            if at >= self._cut.dropped and self._pieces[at].images
            for number, image in enumerate(self._images_of(source))
            if (id(source), number) not in self._refused
        ]
        if not sent:
            return None
        _, size, key, at, image = max(sent, key=lambda each: each[:3])
        if may_be_all and len(sent) == 1 and size <= SMALL_IMAGE_CHARS_MAX:
            self._shows_images = False
            self._encode_again([at for at, piece in enumerate(self._pieces) if piece.images])
            return ""
        self._refused.add(key)
        self._encode_again([at])
        return image.name

    def _images_of(self, source: Message) -> Sequence[Image]:
        if isinstance(source, ToolMessage):
            image = _image_of(source)
            return () if image is None else (image,)
        attached = self._attached.get(id(source))
        return () if attached is None else attached.images

    def _encode_again(self, places: Sequence[int]) -> bool:
        """Encode these entries anew; return whether what is sent changes."""
        before = [self._pieces[at] for at in places]
        for at in places:
            self._pieces[at] = self._piece(self._sources[at])
        return before != [self._pieces[at] for at in places]


def _owner(message: AssistantMessage) -> str:
    state = message.provider_state
    return str(state.get(OWNER, "")) if isinstance(state, Mapping) else ""


def _image_of(message: ToolMessage) -> Image | None:
    output = message.output
    if output.output_type != "image" or output.status is not Status.SUCCESS:
        return None
    media_type = str(output.metadata.get("media_type") or "image/png")
    return Image(media_type, output.output, str(output.metadata.get("file_path") or "an image"))


def _kind(message: Message) -> EntryKind:
    if isinstance(message, ToolMessage):
        return EntryKind.OUTPUT
    is_turn = isinstance(message, UserMessage) and not message.context
    return EntryKind.TURN if is_turn else EntryKind.OTHER


def _tokens(piece: EncodedMessage) -> int:
    if piece.images:
        return piece.images * IMAGE_TOKENS
    return len(piece.body) // BYTES_PER_TOKEN
