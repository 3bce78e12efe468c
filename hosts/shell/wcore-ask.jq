# One event in (a raw line), any number of instructions out: a word, a blank, a payload.
# The policy decides here; JSON is built here and nowhere else.

def visible: gsub("(?![\n\t])[\\p{Cc}\\p{Cf}]"; "\ufffd");
def quoted: visible | gsub("\\\\"; "\\\\") | gsub("\n"; "\\n"); # one line, for printf %b
def first_lines($n): split("\n") | if length > $n then .[:$n] + ["… \(length - $n) more lines"] else . end | join("\n");

def is_named: .tool.name as $name | any($policy.tools[]; . == $name);

# The engine offers only prefixes that cover this very command, every program in it included.
# So a command is ours to allow if an offer, or all of a set of them, is as narrow as our prefixes.
def is_narrow: sub("\\s+$"; "") as $offer
  | any($policy.prefixes[]; . as $want | $offer == $want or ($offer | startswith($want + " ")));
# Words of a command say nothing of leaving the sandbox, or of hosts that it may reach.
def is_usual: (.sandbox // {}) | .view != "none" and (.proposed // []) == [];
def is_covered: is_usual and (
  [.suggestions[]? | objects
    | (.always_prefix.prefix? | strings | [.]), (.always_prefixes.prefixes? | arrays)] as $offers
  | any($offers[]; length > 0 and all(.[]; type == "string" and is_narrow)));

def approve($more): "say " + ({type: "tool_approve", call_id: .call_id} + $more | tojson);
def deny($reason):
  "say " + ({type: "tool_deny", call_id: .call_id, reason: $reason} | tojson),
  "denied 1",
  "note " + ("refused \(.tool.name): \(.tool.description)" | quoted);

def answer_card:
  if .tool.name == "AskUserQuestion" then
    if $policy.answer == null then deny("nobody is there to answer")
    else approve({answer: (if .tool.args.multiSelect == true
                           then [$policy.answer] | tojson else $policy.answer end)}) end
  elif is_named or is_covered then
    ("note " + ("allowed \(.tool.name): \(.tool.description)" | quoted)), # nobody was asked: say so
    approve({})
  else deny("this script does not allow it") end;

def instructions:
  if .type == "ready" then "ready"
  elif .type == "stream_start" then "started"
  elif .type == "text_delta" then "text " + (.text | quoted)
  elif .type == "tool_request" then answer_card
  elif .type == "call_announced" then "note " + ("· \(.tool.name): \(.tool.description)" | quoted)
  elif .type == "tool_result" then
    "note " + ("\(.status) \(.tool_name): \(.output | rtrimstr("\n") | first_lines(20))" | quoted)
  elif .type == "info" then "note " + (.message | quoted)
  elif .type == "error" then "fail \(.error.code) " + (.error.message | quoted)
  elif .type == "stream_end" then
    (if (.denied_unasked // 0) > 0 then "denied \(.denied_unasked)" else empty end),
    "end \(.finish_reason // "stop")"
  else empty end; # an event we do not know is never an error

(try fromjson catch empty) | objects | (try instructions catch "note \(tojson | .[:200] | quoted)")
