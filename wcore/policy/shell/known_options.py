"""Options and operands with which other programs start, read or write what a prefix did not say.

For prefixes that a person wrote: no list of such options is complete, so none of these is offered.
In the notation of `option_specs`, nearly all open: what is not named here is covered.
"""

from collections.abc import Mapping
from typing import Final

from wcore.policy.shell.read_only_commands import NPM_VIEW

_COMPILER: Final = (
    "* &^(?:@|-B|-T|-W[alp],|-X(?:clang|linker|assembler)|--?(?:wrapper|fplugin|fpass-plugin|specs"
    "|plugin|load|fuse-ld|ld-path))"
)
_VIM: Final = (
    "* @^\\+ !-c: !-S: !-u: !-U: !-w: !-W: !-s: !--cmd= !--remote=? !--startuptime= !-i: !-q:"
)
_PIP: Final = (
    "* -r: -c: -t: !--index-url= !-i: !--extra-index-url="
    " !--find-links= !-f: !--python= !--log= !--target= !--root= !--prefix= !--config-settings="
    " !--global-option= !--proxy= !--trusted-host= !--cert= !--report= !--src= !--build-option="
    " !--cache-dir= !--no-index !--use-feature="
)
_NPM: Final = (
    "* !--script-shell= !--prefix= !--shell= !--userconfig= !--globalconfig= !--node-options="
    " !--call= !--registry= !--cache= !--git= !--editor= !--viewer= !--init-module="
    " !--onload-script= !--logs-dir="
)
_DOCKER_BUILD: Final = (
    "* -t: --tag= --build-arg= --target= --platform= !-f: !--file= !-o: !--output= !--iidfile="
    " !--metadata-file= !--secret= !--ssh= !--build-context= !--allow= !--builder= !--cache-to="
    " !--entitlement= !--config= @^https?:|^git"
)
_KUBECTL: Final = (
    "* !--kubeconfig= !--server= !-s: !--token= !--as= !--user= !--cache-dir= !--profile-output="
    " !--log-file= !--log-dir="
)
_HELM: Final = (
    "* !--post-renderer= !--kubeconfig= !--registry-config= !--repository-config= !--output-dir="
    " !--keyring= !--post-renderer-args= !--plugins="
)
_TERRAFORM: Final = (
    "= * !--out= !--state= !--state-out= !--backup= !--chdir= !--plugin-dir= !--from-module="
    " !--backend-config= !--var-file= !--generate-config-out= !--config="
)
_GIT_NETWORK: Final = "* @:: !--upload-pack= !--exec= !--receive-pack= !--recurse-submodules=?"
#: Programs that read a file of further arguments.
_RESPONSE_FILES: Final = (
    "ld|ld.bfd|ld.gold|ld.lld|lld|as|ar|nm|objdump|objcopy|strip|readelf|ranlib|swiftc|kotlinc"
    "|scalac|ghc|protoc|jar|javadoc|meson"
).split("|")
_MSBUILD: Final = (
    "* &^(?:@|/[A-Za-z]+(?::|$)|--?(?:p|property|l|logger|dl|distributedlogger|t|target|bl|fl|flp"
    "|pp|preprocess|ts|o|output|graph)(?::|=|$))"
)
_MSBUILDS: Final = (
    "msbuild|csc|vbc|fsc|dotnet msbuild|dotnet run|dotnet publish|dotnet pack|dotnet restore"
    "|dotnet clean|dotnet format|dotnet vstest"
).split("|")
#: Runners that load what an option names; not in `project_tasks`, so never offered.
_LOADS_CODE: Final = (
    "* / !--require= !-r: !--config= !-c: !--loader= !--import= !--plugin= !--plugins= !--reporter="
    " !--reporters= !--preload= !--setup= !--custom-formatter= !--custom-syntax= !--formatter="
    " !--format= !-f: !--parser= !--opts= !--ui= !--project= !--output= !-o: !--env= !--ext="
    " !--experimental-loader= !--node-option= !--init-module="
)
_LOADERS: Final = (
    "mocha|ava|nyc|c8|tap|jasmine|karma|playwright test|cypress run|webpack|rollup|vite|vite build"
    "|esbuild|stylelint|rubocop|gulp|grunt|standard|xo|markdownlint|htmlhint|cucumber|behave"
).split("|")
#: Subcommands that change what others do, or that run what they find.
_ONLY_WHEN_NAMED: Final = (
    "git send-email|git filter-repo|git mergetool|git instaweb|git web--browse|git daemon|"
    "git shell|git fast-import|git maintenance|git credential|git gui|git citool|"
    "git help|git bundle|npm config|npm set|pip config|cargo rustc|"
    "cargo rustdoc|docker plugin|kubectl edit|kubectl plugin|helm plugin|terraform console|"
    "gh alias|gh extension|gh config|mail|crontab"
).split("|")

#: By the words of the command, what a prefix of them does not cover unless it names it.
KNOWN_OPTIONS: Final[Mapping[str, str]] = {
    "git add": "* !-e !--edit !-p !--patch !-i !--interactive",
    "git commit": "* -mCcF: -u? --message= --author= --date= --reuse-message= --fixup= --squash="
    " --file= --trailer= --cleanup= !-t: !--template= !--gpg-sign=? !-S? !-p !--patch"
    " !--interactive !--pathspec-from-file=",
    **dict.fromkeys("git fetch|git ls-remote".split("|"), _GIT_NETWORK),
    "git pull": _GIT_NETWORK + " !-S? !--gpg-sign=? !-s: !--strategy=",
    "git push": _GIT_NETWORK + " !--signed=?",
    "git clone": _GIT_NETWORK
    + " !-u: !-c: !--config= !--template= !--separate-git-dir= !--bundle-uri=",
    "git archive": "* !-o: !--output= !--exec= !--remote=",
    "git format-patch": "* !-o: !--output-directory= !--output= !--ext-diff !--signature-file=",
    "git rebase": "* !-x: !--exec= !-i !--interactive !--edit-todo !-s: !--strategy= !-S?"
    " !--gpg-sign=?",
    "git merge": "* -m: !-s: !--strategy= !-S? !--gpg-sign=? !-F: !--file=",
    "git cherry-pick": "* !-S? !--gpg-sign=? !--strategy= !-e !--edit",
    "git revert": "* !-S? !--gpg-sign=? !--strategy=",
    "git checkout": "* -bB: !-p !--patch",
    **dict.fromkeys("git restore|git reset".split("|"), "* !-p !--patch"),
    "git stash": "* -m: !-p !--patch",
    "git apply": "* !--directory= !--unsafe-paths !--build-fake-ancestor=",
    "git am": "* !--patch-format= !-S? !--gpg-sign=? !--show-current-patch=?",
    **dict.fromkeys(_ONLY_WHEN_NAMED, "!"),
    "git fast-export": "* !--export-marks=",
    "git init": "* !--template= !--separate-git-dir=",
    "git range-diff": "* !--output= !--ext-diff",
    "tar": "* @^[^/]+: %^[^/]+: -fXCKVNHbL: !-I: !-F: !-T: !-g: !-P !--to-command="
    " !--checkpoint-action=? !--use-compress-program= !--info-script= !--new-volume-script="
    " !--rmt-command= !--rsh-command= !--index-file= !--volno-file= !--files-from="
    " !--listed-incremental= !--absolute-names",
    "zip": "* !-T !-O: !--unzip-command= !--test !--output-file= !--out= !-b: !--temp-path= !-m"
    " !--move",
    "split": "* !--filter=",
    "man": "* !-P: !--pager= !-C: !--config-file= !-H? !--html=? !-M: !--manpath= !-X?"
    " !--gxditview=? !-T? !--troff-device=? !-p: !--preprocessor= !-l !--local-file",
    "less": "* @^\\+ !-o: !-O: !-k: !-T: !-t: !--log-file= !--LOG-FILE= !--lesskey-file="
    " !--lesskey-src= !--lesskey-content= !--tag-file= !--tag= !--cmd=",
    "more": "* @^\\+",
    **dict.fromkeys("vim|nvim|vi|view|ex".split("|"), _VIM),
    "nano": "* !-f: !--rcfile= !-s: !--speller= !-C: !--backupdir=",
    "curl": "* %%output\\{ -XHdAbuemTFxCErtwyYzQPU: --request= --header= --data= --user-agent="
    " --user= --write-out= !-o: !-O !-J !-D: !-c: !-K: !--output= !--remote-name"
    " !--remote-name-all !--remote-header-name !--dump-header= !--cookie-jar= !--config="
    " !--output-dir= !--trace= !--trace-ascii= !--trace-config= !--stderr= !--libcurl="
    " !--etag-save= !--hsts= !--alt-svc= !--engine= !--netrc-file= !--unix-socket= !--create-dirs",
    "wget": "* !-O: !-o: !-a: !-P: !-i: !-e: !--execute= !--output-document= !--output-file="
    " !--append-output= !--directory-prefix= !--config= !--use-askpass= !--save-cookies="
    " !--warc-file= !--hsts-file= !--rejected-log= !--input-file= !--post-file= !--body-file=",
    "ssh": "* -plbcimLRDWQJB: !-o: !-F: !-E: !-w: !-I: !-S: !-O:",
    "scp": "* !-o: !-F: !-S: !-D: !-i:",
    "sftp": "* !-o: !-F: !-S: !-D: !-b: !-s:",
    "rsync": "* !-e: !--rsh= !--rsync-path= !--daemon !--config= !--log-file= !--write-batch="
    " !-M: !--remote-option= !--only-write-batch= !--files-from= !--password-file="
    " !--early-input= @^rsync:",
    "nc": "* !-e: !-c: !--exec= !--sh-exec= !--lua-exec= !-o: !-x: !--output=",
    "ncat": "* !-e: !-c: !--exec= !--sh-exec= !--lua-exec= !-o: !-x:",
    "openssl": "* = !--out= !--engine= !--config= !--provider= !--provider-path= !--passin="
    " !--passout= !--keyout= !--writerand= !--CAcreateserial",
    **dict.fromkeys("gcc|g++|cc|c++|clang|clang++".split("|"), _COMPILER),
    "rustc": "* @^\\@ !-C: !--codegen= !-Z: !-L: !--sysroot= !--extern= !--error-format=",
    **dict.fromkeys(_RESPONSE_FILES, "* &^@"),
    **dict.fromkeys(_MSBUILDS, _MSBUILD),
    **dict.fromkeys(_LOADERS, _LOADS_CODE),
    **dict.fromkeys(
        "npm info|npm show|npm v|pnpm view|pnpm info|pnpm show|yarn info|yarn npm info".split("|"),
        NPM_VIEW,
    ),
    "javac": "* &^(?:@|-J|--?processor|-Xplugin|-d$)",
    "cmake": "* &^-D(?!(?:CMAKE_BUILD_TYPE|BUILD_[A-Z_]+|CMAKE_EXPORT_COMPILE_COMMANDS)[:=])"
    " -SBGATD: --build= -j? !-P: !-E: !-C: !-U: !--toolchain= !--graphviz= !--trace-redirect="
    " !--install-prefix= !--debugger-pipe= !--system-information=? !--preset= !--open="
    " !--profiling-output=",
    "cmake --build": "* -j? --parallel=? --target= --config= !--preset=",
    **dict.fromkeys("npm install|npm ci|npm publish|pnpm install|yarn install".split("|"), _NPM),
    **dict.fromkeys("pip install|pip download|pip wheel".split("|"), _PIP),
    "cargo install": "* !--config= !-Z: !--path= !--git= !--root= !--index= !--registry="
    " !--target-dir=",
    "go run": "= . @\\@ --v --n --x --a --race --tags= --mod= --trimpath !--exec= !--toolexec="
    " !--C= !--overlay= !--modfile= !--ldflags= !--gcflags= !--asmflags= !--compiler= !--pgo=",
    "go install": "= * @\\@ !--exec= !--toolexec= !--overlay= !--modfile= !--ldflags= !--gcflags="
    " !--C=",
    "go get": "= * !--toolexec= !--exec= !--overlay= !--modfile=",
    "go mod": "= * !--modfile= !--overlay= !--C= !--o=",
    "go env": "= * !--w !--u",
    **dict.fromkeys("docker build|docker buildx".split("|"), _DOCKER_BUILD),
    **dict.fromkeys("kubectl cp|kubectl apply".split("|"), _KUBECTL),
    **dict.fromkeys("helm install|helm upgrade|helm template".split("|"), _HELM),
    **dict.fromkeys("terraform plan|terraform apply|terraform init".split("|"), _TERRAFORM),
    "psql": "* -Udhpcv: --command= %(?i)\\\\|\\bprogram\\b !-o: !-L: !-f: !--output= !--log-file="
    " !--file=",
    "mysql": "* %(?i)\\\\|\\b(?:system|tee|source|pager|edit|outfile|dumpfile)\\b -uhPDe:"
    " --execute= !--pager=? !--tee= !--defaults-file= !--defaults-extra-file= !--plugin-dir="
    " !--init-command=",
    "sqlite3": "= * @(?i)(?:^|[\\n;])\\s*\\.(?![./]|tables|schema|databases|indexes)"
    "|load_extension|writefile|readfile|attach|edit\\(|vacuum"
    " %(?i)^\\s*\\.|load_extension|writefile|edit\\( !--cmd= !--init= !--append !--A !--vfs=",
    "redis-cli": "* !--eval= !--rdb= !--pipe !--functions-rdb=",
    "black": "* !--config= !--code= !-c: !--stdin-filename= !--python-cell-magics=",
    "isort": "* !--settings-path= !--settings-file= !--sp= !--virtual-env= !--conda-env=",
    "pre-commit": "* !-c: !--config=",
    "bazel": "* !--bazelrc= !--run_under= !--output_base= !--output_user_root= !--host_jvm_args="
    " !--script_path=",
    "install": "* !-s !--strip !--strip-program=",
    "tcpdump": "* !-w: !-z: !-W: !-F: !-V:",
    "fd": "* !-x: !-X: !--exec= !--exec-batch= !--ignore-file=",
    "ag": "* !--pager=",
    "ack": "* !--pager= !--ackrc= !--output=",
    "bat": "* !--pager= !--config-file= !--generate-config-file !--diff",
    "delta": "* !--pager= !--config=",
    "fzf": "* !--preview= !--bind= !--listen=? !--become=",
    "yq": "* !-i !--inplace !--in-place !-f: !--from-file= !-s: !--split-exp= !--output-dir=",
    "xmllint": "* !--output= !-o: !--catalogs !--load-trace !--shell !--postvalid !--path=",
    "pandoc": "* !-o: !--output= !-F: !--filter= !-L: !--lua-filter= !--pdf-engine= !-d:"
    " !--defaults= !-H: !--data-dir= !--extract-media= !--template= !--log=",
    "iconv": "* !-o: !--output=",
    "gpg": "* !-o: !--output= !--homedir= !--options= !--photo-viewer= !--exec-path="
    " !--agent-program= !--dirmngr-program= !--pinentry-mode= !--keyserver-options="
    " !--load-extension=",
    "journalctl": "* !--vacuum-size= !--vacuum-files= !--vacuum-time= !--rotate !--flush"
    " !--setup-keys !--update-catalog !--cursor-file= !--root= !--directory= !-D:",
    "systemctl": "* !-H: !--host= !--root= !-M: !--machine= !--image=",
    "dot": "* !-o: !-O !-l: !-c",
    "hg": "* !--config= !--config-file= !-R: !--repository= !--cwd= !--traceback !--debugger"
    " !--profile",
    "svn": "* !--config-dir= !--config-option= !--diff-cmd= !--editor-cmd= !--diff3-cmd= !-F:"
    " !--file=",
    "svn diff": "* !--diff-cmd= !--config-option= !--config-dir= -rcx:",
    "svn commit": "* -m: !--editor-cmd= !--config-option= !--config-dir=",
    **dict.fromkeys("sed awk gawk mawk nawk".split(), ""),  # by `programs_with_scripts`
}
