# Views: what is written into a part of an array, or into the whole, the other has too; numbers are copies.
import numpy as np

WAYS = {
    "asarray": lambda a: np.asarray(a), "ravel": lambda a: np.ravel(a), "reshape": lambda a: np.reshape(a, (3, 2)),
    "squeeze": lambda a: np.squeeze(a[None]), "method": lambda a: a[None].squeeze(), "transpose": lambda a: np.transpose(a),
    "swapaxes": lambda a: a.swapaxes(0, 1), "moveaxis": lambda a: np.moveaxis(a, 0, 1), "expand": lambda a: np.expand_dims(a, 1),
    "atleast": lambda a: np.atleast_3d(a), "split": lambda a: np.split(a, 3, axis=1)[1], "vsplit": lambda a: np.vsplit(a, 2)[1],
    "parts": lambda a: np.array_split(a, 2, axis=1)[0], "flip": lambda a: np.flip(a), "rot90": lambda a: np.rot90(a),
    "reversed": lambda a: a[::-1, ::-2], "einsum": lambda a: np.einsum("ij->ji", a), "row": lambda a: a[np.argmax(a[:, 0])],
    "rows": lambda a: list(a)[1], "twice": lambda a: np.flip(np.swapaxes(a, 0, 1), 0)[1:], "copy": lambda a: np.array(a),
    "columns": lambda a: np.ravel(a[:, ::2]), "of columns": lambda a: np.ravel(a.T), "chosen": lambda a: a[[0, 1]],
}  # fmt: skip
for name, way in WAYS.items():
    for start in (np.arange(6), np.arange(6.0) / 2, np.arange(6) % 2 == 0):
        a = start.reshape(2, 3).copy()
        part = way(a)
        part[...] = 1
        print(name, a.tolist(), end=" ")
        a[0] = 0
        part.sort()
        print(a.tolist(), part.tolist(), np.asarray(a) is a)
a = np.arange(4.0).reshape(2, 2)
for part in (np.broadcast_to(a, (2, 2, 2)), a.diagonal(), np.diag(a)):
    a += 1
    print(part.tolist())
    for write in (lambda: part.fill(0), lambda: part[0].fill(0)):
        try:
            write()
        except (ValueError, AttributeError) as error:
            print(str(error)[:40])
print(a.tolist())

# Numbers are no views: two of them change places.
pair = np.array([1.0, 2.0])
x, y = pair
pair[0], pair[1] = y, x
kept = [one for one in pair]
pair += 10
for one in pair:
    pair[-1] = 7
    kept.append(one)
print(pair, kept, x, y)
b = np.array(5)
print(repr(b.T), repr(b.transpose()), repr(b.reshape(())), repr(np.squeeze([[b]])))

# One axis is a view only of what is one after the other in memory; a reshape also of what goes backwards.
for way in (lambda a: a, lambda a: a[..., ::-1], lambda a: a[::2], lambda a: a[1:], lambda a: a.T, lambda a: np.flip(a)):
    for start in (np.arange(4.0).reshape(1, 4), np.arange(5.0), np.arange(6.0).reshape(3, 2)):
        for flat in (lambda a: a.ravel(), lambda a: np.ravel(a), lambda a: a.reshape(-1), lambda a: a.flatten()):
            a = start.copy()
            flat(way(a))[...] = 9
            print(a.tolist(), end=" ")
print()

# Types, words among the arguments, comparisons with texts.
print(np.arange(3).imag, np.float64(2).imag, b == "x", pair != "x")
print(np.convolve([1, 2, 3], [1, 1], "same"), np.pad([1, 2], 1, "edge"), np.searchsorted([1, 1, 2], 1, "right"))
print(np.add([1, 2], [3, 4], dtype=float), np.multiply(2, [3], dtype=int))
for wrong in (lambda: hash(b), lambda: np.random.seed(1.5), lambda: np.random.default_rng("5"), lambda: b.swapaxes(0, 1)):
    try:
        print(wrong())
    except (TypeError, ValueError) as error:
        print(isinstance(error, TypeError), isinstance(error, IndexError))

# Random numbers of another type are others.
print(np.random.RandomState(7).randint(0, 2, size=6, dtype=bool).tolist(), np.random.RandomState(7).randint(0, 200, 4, dtype=np.uint8).tolist())
print(np.random.default_rng(7).integers(0, 99, 4, dtype="int8").tolist(), np.random.default_rng(7).integers(0, 99, 4, dtype=int).tolist())

s = np.float64(0.75)  # numbers do not change
for part in (s.reshape(-1), s.ravel(), s[None], np.atleast_1d(s), np.expand_dims(s, 0)):
    part[...] = 0
    print(part, s)
