"""Installs a wheel into empty environments, as a user does, and runs it there.

    python tests/support/installed.py dist/agrad-0.2.0-py3-none-any.whl            without extras
    python tests/support/installed.py dist/agrad-0.2.0-py3-none-any.whl --each     with each extra, and by pipx

`make dist` runs the first, `make installs` the second.
"""

import os
import subprocess
import sys
import tempfile
import venv
import zipfile
from email import message_from_bytes
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOOLS = {"beside", "dev", "dist", "fuzz", "site", "test"}  # extras of those who work on agrad
# The words of a command that needs an extra, and what it reads. Without the extra, an error names it.
USES = {
    "science": (["eval", "j0(0)"], ""),
    "plot": (["run", "-"], 'plot x**2 for x in 0..1 to "plot.svg"\n'),
    "jit": (["map", "x**2", "-", "--backend", "llvm"], "x\n1\n2\n"),
    "data": (["map", "x**2", "-", "-o", "squares.parquet"], "x\n1\n2\n"),
    "lsp": (["lsp"], ""),
    "jupyter": (["kernel", "install", "--prefix", "kernels"], ""),
}
SHARED = [
    "man/man1/agrad.1",
    "bash-completion/completions/agrad",
    "zsh/site-functions/_agrad",
    "fish/vendor_completions.d/agrad.fish",
]


def extras(wheel):
    """The extras of a wheel that are for its users."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        given = message_from_bytes(archive.read(name)).get_all("Provides-Extra", [])
    return [extra for extra in given if extra not in TOOLS]


def run(*words, given="", folder=None, expected=0, env=None):
    """What a command prints. Raises SystemExit, with that, where it ends otherwise than expected."""
    done = subprocess.run([*map(str, words)], input=given, cwd=folder, env=env, capture_output=True, text=True)
    if done.returncode != expected:
        raise SystemExit(f"{' '.join(map(str, words))}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def bare(folder):
    """The environment of a process in a folder: no settings of a user, and nothing of this checkout on any path."""
    kept = {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "LC_", "LANG", "SSL_"))}
    return kept | {"HOME": str(folder), "PATH": os.defpath}


def same(said, expected):
    """Raises SystemExit where a command printed something else."""
    if said != expected:
        raise SystemExit(f"printed {said!r}, expected {expected!r}")


def check(place, has, folder):
    """Run the agrad in an environment, from another folder: a calculation, what each extra adds, what is in `share`.

    `has`: the extras that it was installed with. An environment of one extra may have what another needs, too; the
    one without extras has nothing.
    """
    agrad = place / "bin" / "agrad"
    here = {"folder": folder, "env": bare(folder)}
    same(run(agrad, "eval", "a**2*2", "a=3", "--wrt", "a", **here), "18\nd/da = 12\n")
    same(run(place / "bin" / "python", "-m", "agrad", "eval", "1 + 1", **here), "2\n")
    for extra, (words, given) in USES.items():
        if extra in has:
            run(agrad, *words, given=given, **here)
        elif not has:
            said = run(agrad, *words, given=given, expected=1, **here)
            if "error[extra]" not in said or f'pip install "agrad[{extra}]"' not in said:
                raise SystemExit(f"the error does not name the extra {extra}: {said}")
    missing = [name for name in SHARED if not (place / "share" / name).is_file()]
    if missing:
        raise SystemExit(f"not in {place}/share: {', '.join(missing)}")
    same(completed(place, here), "help\n")


def completed(place, here):
    """What bash completes `agrad he` to, with the script in `share`."""
    script = place / "share" / "bash-completion" / "completions" / "agrad"
    asked = f'source "{script}"; COMP_WORDS=(agrad he); COMP_CWORD=1; _agrad_completion "{place}/bin/agrad"'
    return run("bash", "-c", f'{asked}; printf "%s\\n" "${{COMPREPLY[@]}}"', **here)


def by_pip(wheel, wanted):
    """Install a wheel, with these extras, into a new environment, and check it."""
    with tempfile.TemporaryDirectory(prefix="agrad-installed-") as temporary:
        place, folder = Path(temporary, "venv"), Path(temporary, "folder")
        folder.mkdir()
        venv.create(place, with_pip=True)
        quiet = ["install", "--quiet", "--disable-pip-version-check"]
        run(place / "bin" / "python", "-m", "pip", *quiet, f"{wheel}[{','.join(wanted)}]" if wanted else wheel)
        run(place / "bin" / "python", "-m", "pip", "check")
        check(place, wanted, folder)
        sys.stdout.write(f"pip, {', '.join(wanted) or 'no extras'}: works\n")


def by_pipx(wheel, wanted):
    """Install a wheel by pipx: into an environment of its own, with the command and the manual page in the user's."""
    with tempfile.TemporaryDirectory(prefix="agrad-installed-") as temporary:
        top = Path(temporary)
        places = {"PIPX_HOME": "pipx", "PIPX_BIN_DIR": "bin", "PIPX_MAN_DIR": "man"}
        env = bare(top) | {name: str(top / path) for name, path in places.items()}
        (top / "folder").mkdir()
        run(sys.executable, "-m", "pipx", "install", f"{wheel}[{','.join(wanted)}]" if wanted else wheel, env=env)
        for made in ("bin/agrad", "man/man1/agrad.1"):
            if not (top / made).is_file():
                raise SystemExit(f"pipx has not made {made}")
        same(run(top / "bin" / "agrad", "eval", "1 + 1", env=env), "2\n")
        check(top / "pipx" / "venvs" / "agrad", wanted, top / "folder")
        sys.stdout.write(f"pipx, {', '.join(wanted) or 'no extras'}: works\n")


def main(wheel, *options):
    wheel = Path(wheel).resolve()
    by_pip(wheel, [])
    if "--each" in options:
        every = extras(wheel)
        for extra in every:
            by_pip(wheel, [extra])
        by_pipx(wheel, [])
        by_pipx(wheel, every)


if __name__ == "__main__":
    main(*sys.argv[1:])
