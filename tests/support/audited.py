"""Runs agrad, and writes what it asked of the operating system: python audited.py REPORT ARGUMENT…

A line for each file that was opened after the program was loaded, and for each event of Python's audit table that
starts a process, uses the network or changes the file system.
"""

import sys

DOORS = (
    "ftplib. http. imaplib. nntplib. os.add_dll os.chdir os.chflags os.chmod os.chown os.exec os.fork os.kill os.link "
    "os.mkdir os.posix_spawn os.remove os.rename os.rmdir os.setxattr os.spawn os.startfile os.symlink "
    "os.system os.truncate os.utime poplib. pty. shutil. smtplib. socket. subprocess. telnetlib. tempfile. "
    "urllib. webbrowser. winreg."
)
_STARTS = tuple(DOORS.split())
_used: list[str] = []


def _hook(event: str, args: tuple[object, ...]) -> None:
    if event == "open":
        _used.append(f"open {args[0]}")
    elif event.startswith(_STARTS):
        _used.append(f"{event} {args}")


def main(report: str, *arguments: str) -> None:
    from agrad.cli.main import root

    sys.addaudithook(_hook)
    try:
        root.main(list(arguments), prog_name="agrad", standalone_mode=False)
    finally:
        found = list(dict.fromkeys(_used))
        with open(report, "w", encoding="utf-8") as file:
            file.write("".join(f"{line}\n" for line in found))


if __name__ == "__main__":
    main(*sys.argv[1:])
