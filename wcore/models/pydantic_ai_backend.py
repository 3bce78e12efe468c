"""The way to a model through pydantic-ai, for providers that speak neither of our dialects.

Costs more than a dialect of our own: the library imports for about a second, in the background,
and walks the whole history for each request. It never runs a tool: it is given descriptions only.
"""

import logging
import warnings
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, cast
from urllib.parse import urlsplit

import anyio
from msgspec import Struct

from wcore import network
from wcore.errors import ProviderError, SettingError
from wcore.models import errors
from wcore.models.arguments import is_finite, read_call
from wcore.models.dialect import DECLINED, FILLS_WINDOW, FILTERED, EncodedMessage, RequestFrame
from wcore.models.model import CallReady, Delta, Finished, FinishReason, Notice, Text, Thinking
from wcore.models.provider_json import dump, parse
from wcore.models.providers import MESSAGES_RULES, ToolRules
from wcore.models.pydantic_ai_encoding import SEAL, ForeignEncoding, messages
from wcore.vocabulary import Json, ModelCall, Usage

if TYPE_CHECKING:
    import httpx2
    from pydantic_ai.messages import ModelResponse, ModelResponseStreamEvent, ToolCallPart
    from pydantic_ai.models import Model, StreamedResponse
    from pydantic_ai.settings import ModelSettings

CONNECT_S: Final = 10.0  # as in our own dialects
READ_S: Final = 600.0  # the library's own; `stall_s` ends what says nothing long before

log = logging.getLogger("wcore.models")


class Access(Struct, frozen=True):
    """What is needed to get in. `region` is for providers that have some."""

    keys: Mapping[str, str]
    base_url: str | None
    region: str | None

    def key(self, *names: str) -> str | None:
        """Return the first of these keys that there is.

        Raises:
            SettingError: no header can carry it.
        """
        return network.usable_key(self.keys, *names)

    def client(self, url: str) -> "httpx2.AsyncClient":
        """Return the client for the base URL, which is `url` where none is given.

        Raises:
            SettingError: the environment lets nobody ask.
        """
        import httpx2  # noqa: PLC0415 - loaded with the library

        limit = httpx2.Timeout(READ_S, connect=CONNECT_S)
        return network.client(self.base_url or url, timeout=limit)


class PydanticAiProvider(Struct, frozen=True):
    """A provider that pydantic-ai talks to. `make` imports it and makes a model of a name."""

    name: str
    price_provider: str
    key_names: tuple[str, ...]
    make: "Callable[[str, Access], Model]"
    tool_rules: ToolRules = ToolRules()


def _openai_responses(name: str, access: Access) -> "Model":
    from pydantic_ai.models.openai import OpenAIResponsesModel  # noqa: PLC0415 - a second
    from pydantic_ai.providers.openai import OpenAIProvider  # noqa: PLC0415

    key, client = access.key("OPENAI_API_KEY"), access.client("https://api.openai.com")
    return OpenAIResponsesModel(
        name, provider=OpenAIProvider(base_url=access.base_url, api_key=key, http_client=client)
    )


def _google(name: str, access: Access) -> "Model":
    from pydantic_ai.models.google import GoogleModel  # noqa: PLC0415 - a second
    from pydantic_ai.providers.google import GoogleProvider  # noqa: PLC0415

    key = access.key("GOOGLE_API_KEY", "GEMINI_API_KEY")
    client = access.client("https://generativelanguage.googleapis.com")
    provider = GoogleProvider(api_key=key, base_url=access.base_url, http_client=client)
    return GoogleModel(name, provider=provider)


def _bedrock(name: str, access: Access) -> "Model":
    from pydantic_ai.models.bedrock import BedrockConverseModel  # noqa: PLC0415 - a second
    from pydantic_ai.providers.bedrock import BedrockProvider  # noqa: PLC0415

    region = access.region or "us-east-1"
    if token := access.key("AWS_BEARER_TOKEN_BEDROCK"):
        provider = BedrockProvider(api_key=token, region_name=region, base_url=access.base_url)
    else:
        provider = BedrockProvider(
            region_name=region,
            base_url=access.base_url,
            aws_access_key_id=access.key("AWS_ACCESS_KEY_ID"),
            aws_secret_access_key=access.key("AWS_SECRET_ACCESS_KEY"),
            aws_session_token=access.key("AWS_SESSION_TOKEN"),
        )
    return BedrockConverseModel(name, provider=provider)


PYDANTIC_AI_PROVIDERS: Final[Mapping[str, PydanticAiProvider]] = {
    foreign.name: foreign
    for foreign in (
        PydanticAiProvider("openai-responses", "openai", ("OPENAI_API_KEY",), _openai_responses),
        PydanticAiProvider("google", "google", ("GOOGLE_API_KEY", "GEMINI_API_KEY"), _google),
        PydanticAiProvider(
            "bedrock",
            "aws",
            ("AWS_BEARER_TOKEN_BEDROCK", "AWS_ACCESS_KEY_ID"),
            _bedrock,
            MESSAGES_RULES,
        ),
    )
}


class PydanticAiBackend:
    """Asks through the library; see `conversation.Backend`."""

    def __init__(
        self, provider: PydanticAiProvider, model: str, access: Access, stall_s: float
    ) -> None:
        self.provider = provider
        self.encoding = ForeignEncoding(provider.tool_rules)
        self._name = model
        self._access = access
        self._stall_s = stall_s
        self._model: Model | None = None

    def fresh(self) -> "PydanticAiBackend":
        return PydanticAiBackend(self.provider, self._name, self._access, self._stall_s)

    @property
    def owner(self) -> str:
        return f"{self.provider.name} {urlsplit(self._access.base_url or '').netloc}"

    @property
    def price_provider(self) -> str:
        return "" if self._access.base_url else self.provider.price_provider

    def warm(self) -> None:
        """Import the library and make its client."""
        try:
            self._opened(self._name)
        except SettingError:
            return  # told by the first request
        except Exception:
            log.exception("client.failed")

    def require_key(self) -> None:
        """Check that one of the keys is there, and can be sent."""
        if self._access.key(*self.provider.key_names) is None:
            raise errors.no_key(self.provider.name, self.provider.key_names)

    async def answer(
        self, frame: RequestFrame, pieces: Sequence[EncodedMessage]
    ) -> AsyncGenerator[Sequence[Delta], None]:
        """Send one request; yield what each event says."""
        from pydantic_ai.direct import model_request_stream  # noqa: PLC0415 - warm by now
        from pydantic_ai.messages import ModelMessagesTypeAdapter  # noqa: PLC0415

        try:
            history = ModelMessagesTypeAdapter.validate_json(messages(frame.system, pieces))
            request = model_request_stream(
                self._opened(frame.model),
                history,
                model_settings=_settings(frame),
                model_request_parameters=_parameters(frame),
                instrument=False,
            )
            async with request as stream:
                while event := await self._next(stream):
                    if found := _said(event):
                        yield found
                yield _ended(self.provider.name, stream.get())
        except ProviderError:
            raise
        except Exception as error:  # a library of libraries: each raises its own
            raise _translated(self.provider.name, error) from error

    async def _next(self, stream: "StreamedResponse") -> "ModelResponseStreamEvent | None":
        with anyio.move_on_after(self._stall_s):
            return await anext(aiter(stream), None)
        text = (
            f"{self.provider.name} sent nothing for {self._stall_s:g} s; the request was given up"
        )
        raise errors.StalledError(text)

    def _opened(self, name: str) -> "Model":
        if self._model is None or self._model.model_name != name:
            from pydantic_ai.exceptions import UnsupportedSettingWarning  # noqa: PLC0415

            warnings.filterwarnings("ignore", category=UnsupportedSettingWarning)
            try:
                self._model = self.provider.make(name, self._access)
            except (SettingError, ImportError):
                raise
            except Exception as error:  # noqa: BLE001 - as in `network`: it reads the environment
                text = "its library makes no client; look at the variables of proxies and keys"
                kind = type(error).__name__
                raise SettingError(f"{self.provider.name}: {text} ({kind})") from None
        return self._model


def _parameters(frame: RequestFrame) -> Any:
    from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415
    from pydantic_ai.tools import ToolDefinition  # noqa: PLC0415

    tools = [
        ToolDefinition(
            name=t.name, description=t.description, parameters_json_schema=dict(t.schema)
        )
        for t in frame.tools
    ]
    return ModelRequestParameters(function_tools=tools)


def _settings(frame: RequestFrame) -> "ModelSettings":
    found: dict[str, Any] = {"max_retries": 0}  # we try again ourselves, and say so
    if frame.max_tokens is not None:
        found["max_tokens"] = frame.max_tokens
    if frame.tuning.thinking is not None or frame.tuning.effort:
        found["thinking"] = frame.tuning.thinking is not False and (frame.tuning.effort or True)
    return cast("ModelSettings", found)


def _said(event: "ModelResponseStreamEvent") -> list[Delta]:
    """Return what an event of the library says to us; calls come whole, at the end."""
    from pydantic_ai import messages as theirs  # noqa: PLC0415

    match event:
        case theirs.PartStartEvent(part=theirs.TextPart(content=text)) if text:
            return [Text(text)]
        case theirs.PartDeltaEvent(delta=theirs.TextPartDelta(content_delta=text)) if text:
            return [Text(text)]
        case theirs.PartStartEvent(part=theirs.ThinkingPart(content=text)) if text:
            return [Thinking(text)]
        case theirs.PartDeltaEvent(delta=theirs.ThinkingPartDelta(content_delta=text)) if text:
            return [Thinking(text)]
        case _:
            return []


def _ended(provider: str, response: "ModelResponse") -> list[Delta]:
    from pydantic_ai.messages import ModelMessagesTypeAdapter, ToolCallPart  # noqa: PLC0415

    if response.state != "complete":
        raise errors.TransientError("the reply broke off")
    is_cut = response.finish_reason == "length"
    parts = [part for part in response.parts if isinstance(part, ToolCallPart)]
    calls: list[Delta] = [
        CallReady(_call(part, is_last_of_cut=is_cut and part is parts[-1])) for part in parts
    ]
    whole: Any = parse(ModelMessagesTypeAdapter.dump_json([response]))[0]
    sealed: Json = {SEAL: whole}
    ended = FinishReason.TOOLS if calls else FinishReason.STOP
    reason = FinishReason.LENGTH if is_cut else ended
    used = response.usage
    cached = used.cache_read_tokens + used.cache_write_tokens
    usage = Usage(
        input_tokens=max(0, used.input_tokens - cached),
        output_tokens=used.output_tokens,
        cache_read_tokens=used.cache_read_tokens,
        cache_write_tokens=used.cache_write_tokens,
    )
    details = response.provider_details or {}
    said: list[Delta] = []
    if refusal := details.get("refusal"):  # of which the library makes no part
        said.append(Text(str(refusal)))
        sealed = None
    if response.finish_reason == "content_filter":
        said.append(Notice(f"{provider}: {DECLINED if refusal else FILTERED}"))
    is_full = details.get("finish_reason") in FILLS_WINDOW
    return [*said, *calls, Finished(reason, usage, sealed, fills_window=is_full)]


def _call(part: "ToolCallPart", *, is_last_of_cut: bool) -> ModelCall:
    if isinstance(part.args, dict):
        if is_finite(part.args):
            return ModelCall(part.tool_call_id, part.tool_name, part.args)
        return ModelCall(part.tool_call_id, part.tool_name, None, "a number is out of range")
    call_id, name, raw = part.tool_call_id, part.tool_name, part.args or ""
    return read_call(call_id, name, raw, is_last_of_cut=is_last_of_cut)


def _translated(provider: str, error: Exception) -> ProviderError:
    """Return the library's error as one of ours."""
    from pydantic_ai import exceptions as theirs  # noqa: PLC0415

    match error:
        case theirs.ModelHTTPError(status_code=status, body=body):
            headers = dict(getattr(error, "headers", None) or {})
            return errors.of_response(provider, status, headers, dump({"error": body}))
        case theirs.ModelAPIError():
            return errors.TransientError(f"no connection to {provider}: {_first_line(error)}")
        case ImportError():
            return errors.RefusedError(f"{provider}: {_first_line(error)}")
        case _:
            return errors.RefusedError(f"{provider} failed: {_first_line(error)}")


def _first_line(error: Exception) -> str:
    return errors.quoted((str(error).strip() or type(error).__name__).splitlines()[0])
