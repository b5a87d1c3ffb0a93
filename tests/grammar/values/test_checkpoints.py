"""`torch.save` and `torch.load`: what is written is what is read, numpy reads it too, and nothing in it is run."""

import io
import pickle
import zipfile
from pathlib import Path
from warnings import catch_warnings

import numpy as np
import pytest
from answers import answers

from agrad.engine.errors import AgradError
from agrad.grammar.session.session import Session

TRAINED = """
m = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
opt = torch.optim.Adam(m.parameters(), lr=0.1)
def train(model, optimizer, steps):
    for k in range(steps):
        optimizer.zero_grad()
        loss = (model(torch.ones(4, 2))**2).mean()
        loss.backward()
        optimizer.step()
    return loss.item()
train(m, opt, 3)
"""


@pytest.fixture
def session():
    made = Session()
    made.run(TRAINED)
    return made


def test_training_goes_on_from_a_file_as_if_it_had_not_stopped(session, tmp_path):
    path = str(tmp_path / "checkpoint.pt")
    session.run(f'''
torch.save({{"epoch": 3, "model": m.state_dict(), "optimizer": opt.state_dict(), "names": ["a", None, (True, inf)]}}, "{path}")
m2 = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
opt2 = torch.optim.Adam(m2.parameters(), lr=9)
c = torch.load("{path}", weights_only=True, map_location="cpu")
m2.load_state_dict(c["model"]); opt2.load_state_dict(c["optimizer"])
assert c["epoch"] == 3 and c["names"] == ["a", None, (True, inf)]
assert train(m, opt, 4) == train(m2, opt2, 4)
for p, q in zip(m.parameters(), m2.parameters()): assert torch.equal(p, q)
''')


def test_numpy_reads_the_arrays_by_their_names(session, tmp_path):
    path = tmp_path / "model.pt"
    session.run(f'torch.save(m.state_dict(), "{path}"); w = m[0].weight.tolist()')
    arrays = np.load(path)
    assert [name for name in arrays.files if name != "structure.json"] == ["0.weight", "0.bias", "2.weight", "2.bias"]
    assert arrays["0.weight"].tolist() == session.names["w"].stacked().tolist()


def test_an_archive_of_numpy_is_read_as_a_dictionary(session, tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, w=np.arange(3), b=np.array(2.5))
    session.run(f'd = torch.load("{path}"); assert d["w"] == [0, 1, 2]; assert d["b"] == 2.5')


def test_arrays_of_the_same_spelling_do_not_replace_each_other(session, tmp_path):
    session.run(f'''
torch.save({{"a": {{"b": ones(2)}}, "a.b": zeros(3), "x/y": [ones(1)]}}, "{tmp_path}/c.pt")
d = torch.load("{tmp_path}/c.pt")
assert d["a"]["b"] == [1, 1]; assert d["a.b"] == [0, 0, 0]; assert d["x/y"][0] == [1]
''')


MESSAGES = answers(Path(__file__).with_name("checkpoint_errors.txt"))


@pytest.mark.parametrize("text", MESSAGES)
def test_what_cannot_be_written_or_read_is_named(text, session, tmp_path):
    places = {name: str(tmp_path / name) for name in ("GOAL", "TEXT", "OBJECTS", "THEIRS")}
    (tmp_path / "TEXT").write_text("hello")
    np.savez(tmp_path / "OBJECTS.npz", a=np.array([{}], dtype=object))
    (tmp_path / "OBJECTS.npz").rename(tmp_path / "OBJECTS")
    with zipfile.ZipFile(tmp_path / "THEIRS", "w") as archive:
        archive.writestr("model/data.pkl", pickle.dumps({}))
    told = MESSAGES[text]
    for name, path in places.items():
        told = told.replace(name, path)
        session.names[name] = path
    with pytest.raises(AgradError) as caught:
        session.run(text)
    assert [caught.value.message, *caught.value.fixes] == told.split("\n")
    assert not (tmp_path / "GOAL").exists()


def test_a_damaged_file_is_an_error(session, tmp_path):
    path = tmp_path / "model.pt"
    session.run(f'torch.save(m.state_dict(), "{path}")')
    data = path.read_bytes()
    for cut in range(0, len(data), 97):
        path.write_bytes(data[:cut])
        with pytest.raises(AgradError):
            session.run(f'torch.load("{path}")')
    entry = io.BytesIO()
    np.save(entry, np.ones(2))
    same, longer = ("b.npy", entry.getvalue()), ("b.npy", entry.getvalue() + b"1")
    for files in ([("structure.json", '{"dict": [["a", {"array": "b"}]]}')], [same, same], [longer]):
        with zipfile.ZipFile(path, "w") as archive, catch_warnings(action="ignore"):
            for name, data in files:
                archive.writestr(name, data)
        with pytest.raises(AgradError, match="is damaged"):
            session.run(f'torch.load("{path}")')


def test_without_files_nothing_is_written_or_read(tmp_path):
    session = Session()
    session.context.files.on = False
    for text in (f'torch.save({{"a": 1}}, "{tmp_path}/x")', f'torch.load("{tmp_path}/x")'):
        with pytest.raises(AgradError, match="file access is switched off"):
            session.run(text)
    assert list(tmp_path.iterdir()) == []
