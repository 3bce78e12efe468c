"""Commands of larger tools that only read, and the options that come before a subcommand.

Keys are words of a command: a longer one wins. A key that is a part of others is a group; what its
own line does not name asks, because it may change what all its subcommands read and run.
"""

from collections.abc import Mapping
from typing import Final

_GIT_REVISIONS: Final = (
    " --all --branches=? --tags=? --remotes=? --glob= --exclude= --since= --after= --until="
    " --before= --author= --committer= --grep= --all-match --invert-grep --max-count= --skip="
    " --merges --no-merges --min-parents= --max-parents= --first-parent --reverse --topo-order"
    " --date-order --author-date-order --left-right --cherry --cherry-pick --cherry-mark"
    " --left-only --right-only --ancestry-path=? --simplify-by-decoration --full-history --dense"
    " --sparse --boundary --not --count --parents --children --walk-reflogs --no-walk=? -n: -giEFP"
    " --objects --oneline --pretty=? --format= --abbrev-commit --no-abbrev-commit --abbrev=?"
    " --decorate=? --no-decorate --decorate-refs= --source --graph --no-graph --date="
    " --relative-date --no-notes --notes=? --encoding= --follow --full-diff --merge --log-size"
    " -L: --root"
)
_GIT_DIFF: Final = (
    " -pubwazstRWcmr -M? -C? -B? -D -U: -G: -S: -l: -X? --patch --no-patch --unified= --raw"
    " --minimal --patience --histogram --diff-algorithm= --stat=? --stat-width= --stat-count="
    " --compact-summary --numstat --shortstat --dirstat=? --summary --patch-with-stat"
    " --name-only --name-status --color=? --no-color --color-moved=? --word-diff=?"
    " --word-diff-regex= --color-words=? --no-renames --find-renames=? --find-copies=?"
    " --find-copies-harder --break-rewrites=? --check --full-index --binary --diff-filter="
    " --pickaxe-all --pickaxe-regex --relative=? --no-relative --text --ignore-cr-at-eol"
    " --ignore-space-at-eol --ignore-space-change --ignore-all-space --ignore-blank-lines"
    " --inter-hunk-context= --function-context --exit-code --quiet --no-ext-diff --no-textconv"
    " --ignore-submodules=? --submodule=? --src-prefix= --dst-prefix= --no-prefix"
    " --line-prefix= --cc --combined-all-paths --indent-heuristic --merge-base --cached"
    " --staged --diff-merges= --first-parent --exclude-standard !--output= !--ext-diff"
    " !--no-index !-O: !--textconv !--show-signature"
)
_GIT_LOG: Final = "-# %%[-+\\s]?G " + _GIT_REVISIONS + _GIT_DIFF
_GIT_REFS: Final = (
    "-avrqi --all --remotes --verbose --contains= --no-contains= --merged= --no-merged= --sort="
    " --points-at= --format= --color=? --no-color --column=? --no-column --ignore-case --abbrev=?"
    " --show-current --omit-empty %%\\(signature"
)
#: A repository, or an address, of another host than GitHub's: the token goes there.
_GH_HOSTS: Final = (
    "@^[\\w-]+(?:\\.[\\w-]+)+(?::\\d+)?/[^/]+/[^/]+$|^(?!https://github\\.com/)\\w+://|^git@"
    " %^=?(?!(?:https?://)?github\\.com/)(?:\\w+://|[\\w-]+(?:\\.[\\w-]+)+(?::\\d+)?/[^/]+/[^/]+$"
    "|git@) "
)
_GH_LIST: Final = _GH_HOSTS + (
    "-aAlLsSBHuREjqbnc: --assignee= --author= --label= --limit= --state= --search= --base= --head="
    " --repo= --json= --jq= --template= --milestone= --user= --branch= --workflow= --status="
    " --event= --commit= --app= --draft --exclude-drafts --exclude-pre-releases --order= --sort="
    " --visibility= --language= --topic= --source --fork --archived --no-archived --mention="
    " --created= --owner= -tO: !-w !--web"
)
_GH_VIEW: Final = _GH_HOSTS + (
    "-cv -Rjqtba: --comments --json= --jq= --template= --repo= --branch= --log --log-failed"
    " --verbose --job= --attempt= --exit-status --yaml --ref= --patch --name-only --color="
    " --required !-w !--web"
)
_KUBE: Final = (
    "-AwR -nolLc: --namespace= --all-namespaces --output= --selector= --label-columns= --watch"
    " --watch-only --show-labels --show-kind --show-managed-fields --no-headers --sort-by="
    " --field-selector= --ignore-not-found --chunk-size= --context= --cluster= --since="
    " --since-time= --tail= --timestamps --container= --all-containers --previous --prefix"
    " --max-log-requests= --containers --recursive --api-version= --api-group= --namespaced="
    " --verbs= --request-timeout= --show-events --revision= --limit-bytes= !--kubeconfig="
    " !--server= !-s: !--token= !--user= !--filename= !--as= !--raw= !--kustomize= !-k:"
)
_DOCKER: Final = (
    "-aqslt -nf: --all --quiet --size --no-trunc --filter= --format= --last= --latest --digests"
    " --tree --tail= --since= --until= --timestamps --details --follow --no-stream --type="
    " --human --verbose --services --status= --orphans --no-color --no-log-prefix --index="
    " --dry-run"
)
_DOCKER_LOGS: Final = (
    "-ft -n: --tail= --since= --until= --timestamps --details --follow --no-color --no-log-prefix"
    " --index="
)
_AWS: Final = (
    "~ @^help$ --region= --output= --query= --no-paginate --max-items= --page-size= --recursive"
    " --summarize"
    " --human-readable --no-cli-pager --starting-token= --filters= --instance-ids= --stack-name="
    " --function-name= --cluster= --services= --tasks= --log-group-name= --log-group-name-prefix="
    " --user-name= --role-name= --names= --name= --key= --bucket= --prefix= --owners= --image-ids="
)

#: Global options that only change how things are shown.
TOOL_GROUPS: Final[Mapping[str, str]] = {
    "git": "-P --no-pager --no-optional-locks --literal-pathspecs --no-replace-objects"
    " --icase-pathspecs --glob-pathspecs --noglob-pathspecs --version --help !-c: !-C:"
    " !--exec-path= !--git-dir= !--work-tree= !--namespace= !--config-env= !-p !--paginate"
    " !--bare !--super-prefix= !--attr-source= !--list-cmds=",
    "gh": "--version --help",
    "docker": "-Dv --debug --version !-H: !--host= !-c: !--context= !--config= !--tlscacert="
    " !--tlskey=",
    "podman": "-v --version !--module= !--config= !--conmon= !--runtime= !--hooks-dir= !--url= !-r",
    "docker compose": "--ansi= --progress= --profile= -p: --project-name= --compatibility"
    " --all-resources !-f: !--file= !--project-directory= !--env-file=",
    "kubectl": "-n: --namespace= --context= --cluster= --request-timeout= -v: !--kubeconfig="
    " !--server= !-s: !--token= !--user= !--as=",
    "aws": "--region= --output= --no-paginate --no-cli-pager --query= --version !--profile="
    " !--endpoint-url= !--ca-bundle= !--no-verify-ssl !--no-sign-request",
    "terraform": "= --version --help !--chdir=",
    "helm": "-n: --namespace= --debug !--kubeconfig= !--registry-config= !--repository-config=",
}

_GIT: Final = {
    "status": "-svbz -uM? --short --long --branch --no-branch --show-stash --porcelain=?"
    " --untracked-files=? --ignored=? --ignore-submodules=? --ahead-behind --no-ahead-behind"
    " --renames --no-renames --find-renames=? --column=? --no-column --verbose",
    **dict.fromkeys(("log", "show", "whatchanged", "reflog show", "stash list"), _GIT_LOG),
    "reflog": "<0 " + _GIT_LOG,
    "diff": "%%[-+\\s]?G" + _GIT_DIFF,
    "diff-tree": "%%[-+\\s]?G --stdin --always" + _GIT_DIFF,
    "rev-list": "-# %%[-+\\s]?G --stdin --quiet --objects-edge" + _GIT_REVISIONS,
    "shortlog": "-sne -w? --summary --numbered --email --group= --committer" + _GIT_REVISIONS,
    "blame": "-btflswencpkCM -L: --root --show-stats --show-name --show-number --show-email"
    " --porcelain --line-porcelain --incremental --date= --abbrev= --since= --first-parent"
    " --ignore-rev= --ignore-revs-file= --color-lines --color-by-age --minimal",
    "stash show": "-u --include-untracked --only-untracked %%[-+\\s]?G" + _GIT_DIFF,
    "branch": "<0 " + _GIT_REFS,
    "branch --list": _GIT_REFS,
    "branch -a": "<0 " + _GIT_REFS,
    "tag": "<0 -n? -l --list " + _GIT_REFS,
    **dict.fromkeys(("tag -l", "tag --list"), "-n? " + _GIT_REFS),
    "for-each-ref": "--count= --shell --perl --python --tcl --stdin " + _GIT_REFS,
    "show-ref": "-dhqs --head --heads --tags --branches --dereference --hash=? --verify --abbrev=?"
    " --quiet --exists",
    "remote": "<0 -v --verbose",
    "remote -v": "<0",
    "remote get-url": "--push --all",
    "worktree list": "-vz --verbose --porcelain --expire=",
    "ls-files": "-cdmoistvfzku -xX: --cached --deleted --modified --others --ignored --stage"
    " --unmerged --killed --directory --no-empty-directory --eol --deduplicate --exclude="
    " --exclude-from= --exclude-standard --error-unmatch --full-name --recurse-submodules"
    " --abbrev=? --format= --debug",
    "ls-tree": "-drtlz --long --name-only --name-status --object-only --full-name --full-tree"
    " --abbrev=? --format=",
    "rev-parse": "-q --abbrev-ref=? --verify --quiet --short=? --symbolic --symbolic-full-name"
    " --show-toplevel --show-prefix --show-cdup --git-dir --git-common-dir --absolute-git-dir"
    " --is-inside-work-tree --is-inside-git-dir --is-bare-repository --is-shallow-repository --all"
    " --branches=? --tags=? --remotes=? --path-format="
    " --show-object-format=? --default= --git-path= --revs-only --no-revs --flags --no-flags",
    "describe": "--all --tags --contains --abbrev= --candidates= --exact-match --debug --long"
    " --match= --exclude= --always --first-parent --dirty=? --broken=?",
    "name-rev": "--tags --refs= --exclude= --all --name-only --no-undefined --always",
    "merge-base": "-a --all --octopus --independent --is-ancestor --fork-point",
    "cat-file": "-tsep --batch-check=? --batch-all-objects --buffer --unordered"
    " --allow-unknown-type",
    "count-objects": "-vH --verbose --human-readable",
    "check-ignore": "-qvnz --quiet --verbose --stdin --non-matching --no-index",
    "grep": "-# -aIiwvhHEGFPnlLzocpWq -ABCmef: --text --ignore-case --word-regexp --invert-match"
    " --full-name --extended-regexp --basic-regexp --perl-regexp --fixed-strings --line-number"
    " --column --files-with-matches --name-only --files-without-match --null --only-matching"
    " --count --color=? --no-color --break --heading --show-function --context="
    " --after-context= --before-context= --function-context --max-count= --threads= --max-depth="
    " --recursive --no-recursive --cached --untracked --no-exclude-standard --exclude-standard"
    " --recurse-submodules --and --or --not --all-match --quiet !-O? !--open-files-in-pager=?"
    " !--ext-grep !--no-index !--textconv",
    "config --get": "<1 --global --local --system --worktree --type= --default= --show-origin"
    " --show-scope -z --null --name-only --includes --no-includes",
    "config --list": "<0 --global --local --system --worktree --show-origin --show-scope -z --null"
    " --name-only",
    "config -l": "<0 --global --local --system --worktree --show-origin --show-scope",
}
_DOCKERS: Final = {
    **dict.fromkeys(("ps", "images", "stats", "history", "image ls", "container ls"), _DOCKER),
    **dict.fromkeys(("volume ls", "network ls", "context ls"), _DOCKER),
    **dict.fromkeys(("compose ps", "compose images", "compose ls"), _DOCKER),
    **dict.fromkeys(("logs", "container logs", "compose logs"), _DOCKER_LOGS),
    **dict.fromkeys(("version", "info", "image inspect", "volume inspect"), "-f: --format="),
    **dict.fromkeys(("port", "top", "diff", "compose top"), ""),
    "inspect": "-s -f: --size --format= --type=",
    "container inspect": "-s -f: --size --format=",
    "network inspect": "-v -f: --format= --verbose",
    "system df": "-v --format= --verbose",
    "compose version": "-f: --format= --short",
}
_GH: Final = {
    **dict.fromkeys(("pr list", "issue list", "run list", "repo list", "release list"), _GH_LIST),
    **dict.fromkeys(("workflow list", "label list", "gist list", "pr status"), _GH_LIST),
    **dict.fromkeys(("issue status", "search prs", "search issues", "search repos"), _GH_LIST),
    **dict.fromkeys(("search code", "search commits"), _GH_LIST),
    **dict.fromkeys(("pr view", "issue view", "run view", "repo view", "release view"), _GH_VIEW),
    **dict.fromkeys(("workflow view", "pr diff", "pr checks", "gist view"), _GH_VIEW),
    "auth status": "-a -h: --active --hostname=",
}
_KUBECTL: Final = {
    **dict.fromkeys(("get", "describe", "explain", "api-resources", "api-versions"), _KUBE),
    **dict.fromkeys(("top pod", "top pods", "top node", "top nodes", "rollout status"), _KUBE),
    **dict.fromkeys(("rollout history", "config get-contexts", "config current-context"), _KUBE),
    "logs": _KUBE + " -fp --follow",
    "config view": "--minify -o: --output=",
    "cluster-info": "<0",
    "auth can-i": "-q --list -n: --namespace= -A --all-namespaces --quiet",
    "version": "-o: --output= --client",
}
#: The spec of a package that is no name of the registry makes npm start git, or read an archive.
NPM_VIEW: Final = ">1 @[:#]|^[.~]|^(?!@[^/@]+/[^/]+$).*/|(?i:\\.(?:tgz|tar|tar\\.gz)$) --json"
_AWS_COMMANDS: Final = (
    "s3 ls;sts get-caller-identity;configure list;ec2 describe-instances;ec2 describe-images"
    ";ec2 describe-vpcs;ec2 describe-subnets;ec2 describe-security-groups;ec2 describe-volumes"
    ";iam list-users;iam list-roles;iam get-user;iam get-role;lambda list-functions"
    ";lambda get-function;ecs list-clusters;ecs list-services;ecs describe-services"
    ";ecs list-tasks;eks list-clusters;eks describe-cluster;rds describe-db-instances"
    ";logs describe-log-groups;cloudformation list-stacks;cloudformation describe-stacks"
    ";dynamodb list-tables;sqs list-queues;sns list-topics;s3api list-buckets"
).split(";")
_LOCAL: Final = {
    **dict.fromkeys(("terraform workspace list", "terraform workspace show"), "="),
    "terraform version": "= --json",
    "helm search repo": "-lr -o: --versions --output= --devel",
    "helm version": "--short --template=",
    **dict.fromkeys(
        ("npm ls", "npm list"), "-agl --depth= --json --long --all --parseable --omit= --global"
    ),
    "npm explain": "--json",
    "npm root": "-g --global",
    "pip list": "-oue --outdated --uptodate --editable --local --user --pre --format="
    " --not-required --exclude=",
    "pip show": "-fq --files --verbose",
    "pip freeze": "-l --local --user --all --exclude= --exclude-editable",
    **dict.fromkeys(("pip check", "apt-cache policy"), ""),
    **dict.fromkeys(("rustup show", "rustup toolchain list"), "-v --verbose"),
    "apt-cache search": "-n --names-only --full",
    "apt-cache show": "-a --all-versions",
}
_REACHING: Final = {
    "git config": "<1 --global --local --system --worktree --type= --show-origin --show-scope -z"
    " --null",
    "terraform state list": "= --id=",
    "terraform state show": "=",
    "terraform output": "= --json --raw --no-color",
    "terraform providers": "= <0",
    "helm list": "-Aaq -nof: --all-namespaces --all --short --output= --namespace= --filter="
    " --max=",
    "helm status": "-no: --namespace= --output= --revision= --show-resources",
    "helm history": "-no: --namespace= --output= --max=",
    "gcloud config list": "--format= --all",
    "gcloud projects list": "--format= --filter= --limit=",
    "gcloud compute instances list": "--format= --filter= --limit= --zones= --project=",
    "gcloud auth list": "--format= --filter=",
    "az account show": "-o: --output= --query= -s: --subscription=",
    "az account list": "-o: --output= --query= --all",
    "az group list": "-o: --output= --query= --tag=",
    "az vm list": "-d -o: --output= --query= -g: --resource-group= --show-details",
    "npm view": NPM_VIEW,
    "brew list": "@[/:]|\\.rb$ -1lrt --formula --cask --versions --full-name --pinned",
    "brew info": "@[/:]|\\.rb$ --json=? --installed --formula --cask",
    "systemctl status": "-alq -no: --no-pager --full --all --lines= --output= --user --system"
    " --quiet",
    "systemctl list-units": "-alq -t: --no-pager --all --type= --state= --plain --no-legend --user",
    **dict.fromkeys(("systemctl is-active", "systemctl is-enabled"), "-q --quiet --user"),
    "svn status": "-quv --verbose --quiet",
    "svn log": "@:// -qv -lr: --limit= --revision= --verbose",
}

#: By the words of the command, the options that a prefix of them covers.
READING_TOOLS: Final[Mapping[str, str]] = {
    **{f"git {name}": spec for name, spec in _GIT.items()},
    **_LOCAL,
}
#: The same, of what reads through a network or a socket, where secrets of others are, or may edit:
#: no prefix of them is offered, since what it would show next time is not what was shown.
REACHING_TOOLS: Final[Mapping[str, str]] = {
    **{f"docker {name}": spec for name, spec in _DOCKERS.items()},
    **{f"podman {name}": spec for name, spec in _DOCKERS.items() if "compose" not in name},
    **{f"gh {name}": spec for name, spec in _GH.items()},
    **{f"kubectl {name}": spec for name, spec in _KUBECTL.items()},
    **{f"aws {name}": _AWS for name in _AWS_COMMANDS},
    **_REACHING,
}
