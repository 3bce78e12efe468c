"""Programs that only read, each with the options that are known to be harmless.

What is not named here asks: `sort -o`, `tree -o`, `file -C`, `date -s`, `diff -l`, which runs `pr`.
The notation is that of `option_specs`; `~` marks programs of which nothing is known to do harm.
"""

from collections.abc import Mapping
from typing import Final

_LS: Final = (
    "~ -1AabBcCdDfgGhHikLlmNnoQqrRSstUuvXxZF -ITpw: --all --almost-all --author --escape"
    " --block-size= --ignore-backups --color=? --directory --dired --classify=? --file-type"
    " --format= --full-time --group-directories-first --no-group --human-readable --si"
    " --dereference-command-line --dereference-command-line-symlink-to-dir --hide= --hyperlink=?"
    " --indicator-style= --inode --ignore= --kibibytes --dereference --numeric-uid-gid --literal"
    " --hide-control-chars --show-control-chars --quote-name --quoting-style= --reverse"
    " --recursive --size --sort= --time= --time-style= --tabsize= --width= --context --zero"
)
_GREP: Final = (
    "~ -# -abcEFGHhIiLlnoPqrRsTUvVwxyzZ -ABCDdefm: --extended-regexp --fixed-strings"
    " --basic-regexp --perl-regexp --regexp= --file= --ignore-case --no-ignore-case --word-regexp"
    " --line-regexp --null-data --no-messages --invert-match --max-count= --byte-offset"
    " --line-number --line-buffered --with-filename --no-filename --label= --only-matching --quiet"
    " --silent --binary-files= --text --directories= --devices= --recursive"
    " --dereference-recursive --include= --exclude= --exclude-from= --exclude-dir="
    " --files-without-match --files-with-matches --count --initial-tab --null --before-context="
    " --after-context= --context= --group-separator= --no-group-separator --color=? --colour=?"
    " --binary"
)
_SUMS: Final = (
    "~ -bctwz -al: --binary --check --tag --text --zero --ignore-missing --quiet --status --strict"
    " --warn --length= --algorithm= --untagged"
)

#: By name, the options that a prefix of the program covers.
READING_PROGRAMS: Final[Mapping[str, str]] = {
    **dict.fromkeys("echo pwd true false type printf test [".split(), "~ *"),
    **dict.fromkeys(("ls", "dir", "vdir"), _LS),
    "cat": "~ -AbEenstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank"
    " --show-tabs --show-nonprinting",
    "head": "~ -# -qvz -cn: --bytes= --lines= --quiet --silent --verbose --zero-terminated",
    "tail": "~ -# -Fqvzfr -cns: --bytes= --follow=? --lines= --max-unchanged-stats= --pid="
    " --quiet --silent --retry --sleep-interval= --verbose --zero-terminated",
    "wc": "~ -clLmw --bytes --chars --lines --files0-from= --max-line-length --words --total=",
    **dict.fromkeys(("grep", "egrep", "fgrep"), _GREP),
    "rg": "-# -0abcFhHiILlnNopPqSsUuvVwx. -ABCEMTdefgjmrt: --after-context= --auto-hybrid-regex"
    " --before-context= --binary --byte-offset --case-sensitive --color= --colors= --column"
    " --context= --context-separator= --count --count-matches --crlf --encoding= --engine="
    " --field-context-separator= --field-match-separator= --file= --files --files-with-matches"
    " --files-without-match --fixed-strings --follow --glob= --glob-case-insensitive --heading"
    " --hidden --iglob= --ignore-case --ignore-file= --include-zero --invert-match --json"
    " --line-buffered --line-number --line-regexp --max-columns= --max-columns-preview"
    " --max-count= --max-depth= --max-filesize= --mmap --multiline --multiline-dotall --no-config"
    " --no-filename --no-heading --no-ignore --no-ignore-dot --no-ignore-global --no-ignore-parent"
    " --no-ignore-vcs --no-line-number --no-messages --no-unicode --null --null-data"
    " --one-file-system --only-matching --passthru --path-separator= --pcre2 --pretty --quiet"
    " --regexp= --replace= --smart-case --sort= --sortr= --stats --text --threads= --trim --type="
    " --type-add= --type-list --type-not= --unrestricted --vimgrep --with-filename --word-regexp"
    " !--pre= !--search-zip !--hostname-bin=",
    "cut": "~ -nsz -bcdf: --bytes= --characters= --delimiter= --fields= --complement"
    " --only-delimited --output-delimiter= --zero-terminated",
    "tr": "~ -Ccdst --complement --delete --squeeze-repeats --truncate-set1",
    "sort": "-bdfghimMnrRsuVzcC -Skt: --ignore-leading-blanks --dictionary-order --ignore-case"
    " --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort"
    " --numeric-sort --random-sort --reverse --sort= --version-sort --check=? --debug --key="
    " --merge --stable --buffer-size= --field-separator= --parallel= --unique --zero-terminated"
    " !-o: !-T: !--output= !--compress-program= !--temporary-directory=",
    "uniq": "<1 -# -cDdiuz -fsw: --count --repeated --all-repeated=? --skip-fields= --group=?"
    " --ignore-case --skip-chars= --unique --zero-terminated --check-chars=",
    "nl": "~ -p -bdfhilnsvw: --body-numbering= --section-delimiter= --footer-numbering="
    " --header-numbering= --line-increment= --join-blank-lines= --number-format= --no-renumber"
    " --number-separator= --starting-line-number= --number-width=",
    "tac": "~ -br -s: --before --regex --separator=",
    "rev": "~ -0",
    "fold": "~ -# -bs -w: --bytes --spaces --width=",
    "fmt": "~ -# -cstu -gpw: --crown-margin --prefix= --split-only --tagged-paragraph"
    " --uniform-spacing --width= --goal=",
    "comm": "~ -# -123z --check-order --nocheck-order --output-delimiter= --total"
    " --zero-terminated",
    "join": "~ -iz -12aejotv: --ignore-case --check-order --nocheck-order --header",
    "paste": "~ -sz -d: --delimiters= --serial --zero-terminated",
    "column": "~ -deJLtxn -cENHORTWosr: --table --table-columns= --output-width="
    " --output-separator= --separator= --fillrows --json --table-right= --table-hide=",
    "expand": "~ -# -i -t: --initial --tabs=",
    "unexpand": "~ -# -a -t: --all --first-only --tabs=",
    "diff": "-abBcdEeinNpqrstTuwy -CDFISUWXx: --normal --brief --report-identical-files"
    " --context=? --unified=? --ed --rcs --side-by-side --width= --left-column"
    " --suppress-common-lines --show-c-function --show-function-line= --label= --expand-tabs"
    " --initial-tab --tabsize= --suppress-blank-empty --recursive --no-dereference --new-file"
    " --unidirectional-new-file --ignore-file-name-case --exclude= --exclude-from="
    " --starting-file= --from-file= --to-file= --ignore-case --ignore-tab-expansion"
    " --ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines"
    " --ignore-matching-lines= --text --strip-trailing-cr --ifdef= --minimal --horizon-lines="
    " --speed-large-files --color=? --palette= !-l !--paginate",
    "cmp": "~ -bls -in: --print-bytes --ignore-initial= --verbose --bytes= --quiet --silent",
    "du": "~ -0abcDhHklLmPSsx -BXdt: --null --all --apparent-size --block-size= --bytes --total"
    " --dereference-args --max-depth= --files0-from= --human-readable --inodes --dereference"
    " --count-links --no-dereference --separate-dirs --si --summarize --threshold= --time=?"
    " --time-style= --exclude-from= --exclude= --one-file-system",
    "df": "~ -ahHiklPTv -Btx: --all --block-size= --human-readable --si --inodes --local"
    " --no-sync --output=? --portability --total --type= --print-type --exclude-type=",
    "stat": "~ -Lt -cf: --dereference --format= --terse --cached= --printf=",
    "file": "-0bhikLNnrsv -Fe: --brief --exclude= --exclude-quiet="
    " --separator= --mime --apple --extension --mime-type --mime-encoding --keep-going --list"
    " --dereference --no-dereference --no-buffer --no-pad --print0 --raw !-C !--compile !-m:"
    " !--magic-file= !-z !-Z !--uncompress !-p !-S !--no-sandbox",
    "tree": "-adfilgpqsuhDFxANCJXnSr -LIP: -Q --noreport --dirsfirst --du --prune --gitignore"
    " --filesfirst --sort= --timefmt= --inodes --device --nolinks --matchdirs --ignore-case !-o:"
    " !-R",
    "basename": "~ -az -s: --multiple --suffix= --zero",
    "dirname": "~ -z --zero",
    "realpath": "~ -eLmPqsz --canonicalize-existing --canonicalize-missing --logical --physical"
    " --quiet --relative-to= --relative-base= --strip --no-symlinks --zero",
    "readlink": "~ -efmnqsvz --canonicalize --canonicalize-existing --canonicalize-missing"
    " --no-newline --quiet --silent --verbose --zero",
    "date": "@^[^+] -uR -dr: -I? --date= --iso-8601=? --rfc-email --rfc-3339= --reference= --utc"
    " --universal --debug !-s: !--set= !-f: !--file=",
    "id": "~ -agGnruzZ --context --group --groups --name --real --user --zero",
    **dict.fromkeys("whoami groups arch factor tsort".split(), "~"),
    "nproc": "~ --all --ignore=",
    "uname": "~ -aimnoprsv --all --kernel-name --nodename --kernel-release --kernel-version"
    " --machine --processor --hardware-platform --operating-system",
    "hostname": "<0 -AadfIis --alias --all-fqdns --domain --fqdn --long --ip-address"
    " --all-ip-addresses --short !-b !-F: !--boot !--file=",
    "uptime": "~ -ps --pretty --since",
    "free": "~ -bghklmtvw -cs: --human --si --total --wide --seconds= --count= --mega --giga",
    "lsblk": "~ -aAbdfJlmnOPpStz -eIo: --all --bytes --fs --json --list --noheadings --output="
    " --paths --raw --topology --tree=?",
    "lscpu": "~ -aBbchJxy -Cep? --all --bytes --json --hex --output-all",
    "which": "~ -as --all",
    "whereis": "~ -bmsu",
    "printenv": "~ -0 --null",
    "seq": "~ -# -w -fs: --format= --separator= --equal-width",
    **dict.fromkeys(
        "md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum".split(), _SUMS
    ),
    "sum": "~ -rs --sysv",
    "od": "~ -abcdfhiloxvs -ANjt: -Sw? --address-radix= --endian= --skip-bytes= --read-bytes="
    " --strings=? --format= --output-duplicates --width=?",
    "hexdump": "~ -bCcdoxvX -efns: --canonical --length= --skip= --no-squeezing --format=",
    "hd": "~ -bCcdoxvX -efns:",
    "strings": "~ -# -adfowt -enstTU: --all --print-file-name --bytes= --radix= --encoding=",
    "xxd": "<1 -abCEeiu -cgloRsn:",
    "base64": "~ -diD -wb: --decode --ignore-garbage --wrap=",
    "base32": "~ -di -w: --decode --ignore-garbage --wrap=",
    "jq": "-CceMnrRSsaj --tab --arg= --argjson= --args --jsonargs --compact-output --null-input"
    " --raw-output --raw-input --slurp --sort-keys --exit-status --color-output"
    " --monochrome-output --ascii-output --join-output --indent= --seq --stream !-L: !-f:"
    " !--from-file=",
    "find": "",  # by `programs_with_scripts`
    "json.tool": "<1 --sort-keys --no-ensure-ascii --json-lines --indent= --tab --no-indent"
    " --compact",
}

#: What they read is of other processes, whose environment and arguments hold secrets: no prefix of
#: them is offered, and one that a person wrote covers these options.
LOOKING_AROUND: Final[Mapping[str, str]] = {
    "ps": "~ -# -AaCcdefFGgHjLlMmNnOopqrsTtUuVvwXxyZ --pid= --ppid= --user= --sort= --forest",
    "pgrep": "~ -AacfilnovwxL -dgGPstuU: --delimiter= --list-name --list-full --count --full"
    " --exact --newest --oldest --parent= --euid= --uid= --ignore-case",
}
