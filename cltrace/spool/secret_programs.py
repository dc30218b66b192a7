"""Programs that take a password behind a letter, or at a place of their command line."""

import re
from typing import Final

_USER: Final = r"[^\s:/=\"'-][^\s:/=\"']{0,200}:"
_OPTIONS: Final = (
    (
        "mysql(?:admin|check|dump|import|show|slap)?|mariadb(?:-[a-z]+)?|7z[arz]?|rar|unrar",
        r"-p(?=\S)",
    ),
    ("sshpass", r"-p\s?"),
    (r"(?:docker|podman|nerdctl|buildah|skopeo|helm registry|az acr)\slogin", r"-p[\s=]?"),
    ("mongo(?:sh|dump|restore|export|import|stat|files)?|rdesktop", r"-p\s?"),
    ("redis-cli", r"-a\s"),
    ("ldap(?:add|compare|delete|modify|passwd|search|whoami)", r"-w\s?"),
    ("openssl", r"-[kK]\s"),
    ("(?:un)?zip|zipcloak|ipmitool|sqlcmd|bcp", r"-P\s?"),
    ("ssh-keygen", r"-[NP]\s?"),
    ("snmp(?:bulkget|bulkwalk|get|getnext|set|walk)", r"-[AXc]\s?"),
    ("smbclient|smbget|rpcclient", r"-U\s?[^\s%]{1,200}%"),
    ("curl|wget", rf"-[A-Za-z]{{0,8}}[uU]\s?[\"']?{_USER}"),
    ("https?|xh", rf"(?:-a|--auth)[\s=]?[\"']?{_USER}"),
    ("lftp", r"-u\s?[^\s,]{1,200},"),
    ("[xw]?freerdp", r"/p:"),
    ("sqlplus|sqlldr|rman|expdp|impdp", r"[^\s/@-][^\s/@]{0,200}/"),
    ("htpasswd", r"-\w*b\w*\s(?:-\w+\s)?\S{1,512}\s\S{1,512}\s"),
    ("wpa_passphrase", r"(?<=wpa_passphrase\s)\S{1,200}\s"),
)
"""Names of programs, and what stands before the password."""
_VALUE: Final = r"(?P<value>(?!-|//|\*\*\*)(?:'[^']+'|\"[^\"]+\"|[^\s@\"']+(?:@[^\s\"']*)?))"
PROGRAMS: Final = tuple(
    re.compile(rf"(?P<name>(?<![\w-])(?:{names})\s(?:[^;|&\n]{{0,200}}?(?<=\s))?{option}){_VALUE}")
    for names, option in _OPTIONS
)
"""Forms of such command lines."""
MENTIONED: Final = re.compile(rf"(?<![\w-])(?:{'|'.join(names for names, _ in _OPTIONS)})(?=\s)")
"""A program of these in a command line."""
