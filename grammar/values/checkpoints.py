"""`torch.save` and `torch.load`: dictionaries, lists, numbers and arrays in a file that numpy reads, too.

The file is an archive as `numpy.savez` writes it: an array for each one, named by where it is, `fc.weight`. Beside them
is `structure.json`, which says what they are in. Nothing in it is code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any
from zipfile import BadZipFile, ZipFile

from agrad.engine.core.context import afford
from agrad.engine.core.tensor import Tensor, tensor
from agrad.engine.data.numpy_files import entries, header
from agrad.engine.errors import AgradError, Hint
from agrad.engine.ops.data_files import existing
from agrad.engine.values import describe, np
from agrad.grammar.files import replacing
from agrad.grammar.values.dicts import Dict
from agrad.grammar.values.lists import List

_STRUCTURE = "structure.json"
_KINDS: dict[str, Any] = {"list": lambda parts: List(parts, joins=True), "tuple": tuple, "dict": Dict}


def save(obj: Any, f: Any) -> None:
    """Write a value to a file. Raises AgradError of kind `type` for what is no data, and of kind `file`."""
    if not isinstance(f, str):
        raise AgradError("type", f"torch.save needs the name of a file, not {describe(f)}")
    arrays: dict[str, Any] = {}
    structure = _encoded(obj, "", arrays)
    with replacing(f) as file, ZipFile(file, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)
        archive.writestr(_STRUCTURE, json.dumps(structure))


def _encoded(value: Any, path: str, arrays: dict[str, Any]) -> Any:
    """A value for JSON: an array as its name in the archive, what has parts by its kind."""
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Tensor) or hasattr(value, "dtype"):
        name = path or "value"
        while name in arrays:
            name += "_"
        arrays[name] = np.array(value.detach().value if isinstance(value, Tensor) else value, dtype=np.float64)
        return {"array": name}
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str | float | int):
                raise AgradError("type", f"torch.save writes no dictionary with the key {describe(key)}")
        return {"dict": [[key, _encoded(part, _below(path, key), arrays)] for key, part in value.items()]}
    if isinstance(value, List | list | tuple):
        kind = "tuple" if isinstance(value, tuple) else "list"
        return {kind: [_encoded(part, _below(path, place), arrays) for place, part in enumerate(value)]}
    if hasattr(value, "state_dict"):
        fix = 'torch.save(model.state_dict(), "model.pt")   and model.load_state_dict(torch.load("model.pt"))'
        raise AgradError("type", f"torch.save writes numbers and arrays, not {describe(value)}", fixes=[Hint(fix)])
    raise AgradError("type", f"torch.save writes numbers, arrays, lists and dictionaries, not {describe(value)}")


def _below(path: str, key: Any) -> str:
    spelt = str(int(key)) if isinstance(key, int | float) and key == int(key) else str(key)
    spelt = spelt.replace("/", "_").replace("\\", "_").replace("\0", "_")
    return f"{path}.{spelt}" if path else spelt


def load(f: Any, map_location: Any, weights_only: Any, mmap: Any) -> Any:
    """What a file of `torch.save` or `numpy.savez` holds. Raises AgradError of kind `file`."""
    path = str(existing("torch.load", f))
    try:
        with ZipFile(path) as archive:
            names = archive.namelist()
            if any(name.endswith("/data.pkl") for name in names):
                raise _of_pytorch(path)
            if len(set(names)) < len(names):
                raise KeyError
            found: dict[str, Tensor] = {}
            for name in names:
                if name.endswith(".npy"):
                    afford("torch.load", (archive.getinfo(name).file_size // 8,))  # before it is read
                    with archive.open(name) as entry:
                        found[name[:-4]] = tensor(
                            entries(entry, *header(entry, archive.getinfo(name).file_size, f"torch.load: {path}"))
                        )
            structure = json.loads(archive.read(_STRUCTURE)) if _STRUCTURE in names else None
        return Dict(found) if structure is None else _decoded(structure, found)
    except AgradError:
        raise
    except BadZipFile:
        problem = f"torch.load: {path} is not a file that torch.save or numpy.savez wrote"
    except (OSError, ValueError, KeyError, TypeError, EOFError, NotImplementedError, RuntimeError, RecursionError):
        problem = f"torch.load: {path} is damaged"
    raise AgradError("file", problem)


def _decoded(structure: Any, arrays: Mapping[str, Tensor]) -> Any:
    if not isinstance(structure, dict):
        return float(structure) if type(structure) is int else structure
    ((kind, parts),) = structure.items()
    if kind == "array":
        return arrays[parts]
    if kind == "dict":
        return Dict([(_decoded(key, arrays), _decoded(part, arrays)) for key, part in parts])
    return _KINDS[kind]([_decoded(part, arrays) for part in parts])


def _of_pytorch(path: str) -> AgradError:
    message = f"{path} was written by PyTorch, as code of Python's pickle, which agrad does not run"
    fix = (
        f'np.savez("model.npz", **{{k: v.numpy() for k, v in torch.load({path!r}).items()}})   in Python with PyTorch; '
        'torch.load("model.npz") reads that'
    )
    return AgradError("file", message, fixes=[Hint(fix)])
