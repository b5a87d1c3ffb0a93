"""Compiled functions over Dask's arrays and data frames."""

import pickle
import subprocess
import sys

import cloudpickle
import numpy as np
import pytest
from refused import refuses
from rows import each

import agrad.engine as ag
from agrad.engine.compile import dask_arrays
from agrad.engine.compile.llvm.target import binding

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

BACKENDS = ["python", "auto", *(["llvm"] if binding() else [])]


@pytest.fixture(autouse=True)
def threads():
    with dask.config.set(scheduler="threads", num_workers=2):
        yield


def of_numbers(x, y):
    return ag.sin(x) * ag.exp(y) if x > 0.2 else y**2 - x


def same(found, expected):
    return found.dtype == expected.dtype and found.shape == expected.shape and found.tobytes() == expected.tobytes()


def columns(rows, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=rows), rng.normal(size=rows)


def test_the_result_is_an_array_of_dasks_and_nothing_is_computed_before():
    def refuse(block):
        if len(block):
            raise ValueError("a block was computed")
        return block

    x = da.ones(10, chunks=(4, 4, 2)).map_blocks(refuse, dtype=float, meta=np.empty(0))
    f = ag.compile(lambda x: ag.stack([x, x**2]), 1.0, wrt=())
    values, gradients = f.map(x)
    assert gradients == []
    assert isinstance(values, da.Array)
    assert (values.shape, values.chunks, values.dtype) == ((10, 2), ((4, 4, 2), (2,)), np.float64)
    assert (type(values._meta), values._meta.shape, values._meta.dtype) == (np.ndarray, (0, 0), np.float64)
    with pytest.raises(ValueError, match="a block was computed"):
        values.compute()


@each("backend", BACKENDS)
@each("rows", [1, 1000, 20_011])
def test_the_bits_are_those_of_one_call_with_arrays(backend, rows):
    x, y = columns(rows)
    expected, by = ag.compile(of_numbers, 1.0, 2.0, backend=backend).map(x, y)
    f = ag.compile(of_numbers, 1.0, 2.0, backend=backend)
    values, gradients = f.map(da.from_array(x, chunks=rows // 7 + 1), da.from_array(y, chunks=rows // 5 + 1))
    found, *slopes = dask.compute(values, *gradients)
    assert same(found, expected)
    assert [*map(same, slopes, by)] == [True, True]


@pytest.mark.skipif(not binding(), reason="needs llvmlite")
def test_whether_machine_code_pays_is_decided_by_all_rows_together():
    rows = 400_000
    x, y = columns(rows)
    smooth = lambda x, y: ag.exp(ag.sin(x) * y) * ag.tanh(x + y) / (1 + ag.cosh(y)) + ag.log(1 + x**2) * ag.cos(y)  # noqa: E731
    by_python = ag.compile(smooth, 1.0, 2.0, backend="python").map(x, y)[0]
    by_machine = ag.compile(smooth, 1.0, 2.0, backend="llvm").map(x, y)[0]
    assert not same(by_python, by_machine)
    assert same(ag.compile(smooth, 1.0, 2.0).map(x, y)[0], by_machine)
    f = ag.compile(smooth, 1.0, 2.0)
    values, _ = f.map(da.from_array(x, chunks=10_000), da.from_array(y, chunks=10_000))
    few, _ = f.map(da.from_array(x[:1000], chunks=100), da.from_array(y[:1000], chunks=100))
    assert same(values.compute(), by_machine)
    assert same(values[5:900].compute(), by_machine[5:900])
    assert same(few.compute(), by_python[:1000])  # also after the others
    assert same(f.map(x[:1000], y[:1000])[0], by_python[:1000])


def test_blocks_that_do_not_match_are_divided_as_dask_divides_them():
    x, y = columns(12)
    values, _ = ag.compile(of_numbers, 1.0, 2.0).map(da.from_array(x, chunks=(6, 6)), da.from_array(y, chunks=(4, 8)))
    assert values.chunks == ((4, 2, 6),)
    values, _ = ag.compile(of_numbers, 1.0, 2.0).map(da.from_array(x, chunks=(6, 6)), y)
    assert values.chunks == ((6, 6),)


@each("backend", BACKENDS)
def test_a_row_may_be_an_array_whose_blocks_are_put_together(backend):
    rng = np.random.default_rng(1)
    tables, weights = rng.normal(size=(31, 3, 4)), rng.normal(size=(3, 4))
    make = lambda: ag.compile(lambda t, w: ag.sum(ag.tanh(t * w)), tables[0], weights, backend=backend)  # noqa: E731
    expected, by = make().map(tables, weights)
    for same_in_each in (weights, weights.tolist(), da.from_array(weights, chunks=(2, 2))):
        values, gradients = make().map(da.from_array(tables, chunks=(10, 2, 3)), same_in_each)
        assert [x.chunks for x in (values, *gradients)] == [
            ((10, 10, 10, 1),),
            ((10, 10, 10, 1), (3,), (4,)),
            ((10, 10, 10, 1), (3,), (4,)),
        ]
        assert same(values.compute(), expected)
        assert [*map(same, dask.compute(*gradients), by)] == [True, True]


def test_arguments_and_results_may_have_parts():
    def f(p, scale):
        return {"sum": ag.sum(p["x"]) * scale, "both": (p["y"], p["x"] + p["y"])}

    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(20, 2)), rng.normal(size=20)
    compiled = ag.compile(f, {"x": x[0], "y": 1.0}, scale=2.0, wrt=())
    found, gradients = compiled.map({"x": da.from_array(x, chunks=6), "y": da.from_array(y, chunks=6)}, scale=3.0)
    expected, _ = compiled.map({"x": x, "y": y}, scale=3.0)
    assert gradients == []
    assert found["both"][1].chunks == ((6, 6, 6, 2), (2,))
    (computed,) = dask.compute(found)
    assert same(computed["sum"], expected["sum"])
    assert [*map(same, computed["both"], expected["both"])] == [True, True]


def test_values_and_gradients_that_are_computed_together_take_one_evaluation_of_a_block(monkeypatch):
    calls = []
    call = dask_arrays.Recipe.__call__
    monkeypatch.setattr(dask_arrays.Recipe, "__call__", lambda *given: calls.append(1) or call(*given))
    values, (by_x, by_y) = ag.compile(of_numbers, 1.0, 2.0).map(da.ones(12, chunks=4), da.ones(12, chunks=4))
    dask.compute(values, by_x, by_y)
    assert len(calls) == 3


def test_the_same_request_has_the_same_name():
    x = da.ones(12, chunks=4)
    f = ag.compile(of_numbers, 1.0, 2.0)
    assert f.map(x, x)[0].name == f.map(x, x)[0].name != ag.compile(of_numbers, 1.0, 2.0).map(x, x)[0].name
    assert f.map(x, 1.0)[0].name != f.map(x, 2.0)[0].name


def test_columns_of_data_frames_have_blocks_of_unknown_lengths():
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    x, y = columns(100)
    table = dd.from_pandas(pd.DataFrame({"x": x, "y": y}), npartitions=3)
    for backend in BACKENDS:
        f = ag.compile(of_numbers, 1.0, 2.0, backend=backend)
        values, _ = f.map(table.x, table.y)
        assert np.isnan(values.shape[0])
        # Their number is taken for very large: then machine code pays.
        known = ag.compile(of_numbers, 1.0, 2.0, backend="llvm" if binding() and backend == "auto" else backend)
        assert same(values.compute(), known.map(x, y)[0])
    with pytest.raises(ag.AgradError, match="must have the same blocks where their lengths are not known") as caught:
        f.map(table.x, da.from_array(y, chunks=20))
    assert caught.value.message.endswith("their numbers are 3, 5")
    refuses(lambda: f.map(table.x, y), "their numbers are none, 3")
    one_more = dd.from_pandas(pd.DataFrame({"y": np.arange(101.0)}), npartitions=3)
    refuses(f.map(table.x, one_more.y)[0].compute, "the columns must have one length")


@each("later", [False, True])
def test_a_data_frame_gives_a_data_frame(later):
    pd = pytest.importorskip("pandas")
    dd = pytest.importorskip("dask.dataframe")
    x, y = columns(100)
    frame = pd.DataFrame({"y": y, "other": "text", "x": x}, index=np.arange(100) * 2)
    table = dd.from_pandas(frame, npartitions=3) if later else frame
    f = ag.compile(of_numbers, 1.0, 2.0, backend="python")
    values, (by_x, by_y) = f.map(x, y)
    expected = pd.DataFrame({"value": values, "d/dx": by_x, "d/dy": by_y}, index=frame.index)
    found = f.map_partitions(table)
    assert not later or (isinstance(found, dd.DataFrame) and found.divisions == table.divisions)
    pd.testing.assert_frame_equal(dask.compute(found)[0], expected, check_exact=True)
    fixed = dask.compute(f.map_partitions(table, y=2.0))[0]
    assert same(fixed["d/dy"].to_numpy(), f.map(x, 2.0)[1][1])
    both = ag.compile(lambda x: {"low": x - 1, "high": x + 1}, 1.0, wrt=())
    assert list(dask.compute(both.map_partitions(table))[0]) == ["value['low']", "value['high']"]
    joined = table.assign(z=f.map_partitions(table)["value"])
    assert same(dask.compute(joined)[0].z.to_numpy(), values)


def test_what_does_not_fit_is_refused_before_anything_is_computed():
    pd = pytest.importorskip("pandas")
    x = da.ones(10, chunks=5)
    f = ag.compile(of_numbers, 1.0, 2.0)
    frame = pd.DataFrame({"x": [1.0]})
    later = dask.delayed(np.ones)(10)
    of_arrays = ag.compile(ag.sum, [1.0, 2.0])
    for call, kind, message in (
        (lambda: f.map(x, da.ones(11, chunks=5)), "shape", "the columns must have one length, not 10, 11"),
        (lambda: f.map(x, np.ones(11)), "shape", "the columns must have one length, not 10, 11"),
        (lambda: f.map(x, da.ones((10, 2))), "shape", r"y has shape \(10, 2\): a column has one axis"),
        (lambda: f.map(x, x, out=(np.ones(10), [])), "type", "no out for arrays of Dask's"),
        (lambda: f.map(x, x, threads=0), "domain", "at least 1 thread"),
        (lambda: f.map(x), "arity", "takes 2 columns, and was given 1"),
        (lambda: f.map(x, x.astype(complex)), "type", "complex"),
        (lambda: f.map(x, later), "type", "y must be an array or a column of Dask's, not its Delayed"),
        (lambda: ag.compile(lambda x: ag.stack([x, x]), 1.0).map(x), "shape", "a gradient needs one number"),
        (lambda: f.map_partitions(x), "type", "takes a data frame of pandas' or Dask's"),
        (lambda: f.map_partitions(frame), "name", "the data frame has no column y"),
        (lambda: f.map_partitions(frame, y=1.0, z=2.0), "name", "there is no argument z"),
        (lambda: f.map_partitions(frame, y=[1.0, 2.0]), "shape", "y must be one number"),
        (lambda: of_arrays.map_partitions(frame), "type", "a column of numbers for each argument"),
        (lambda: ag.compile(lambda x: ag.stack([x, x]), 1.0, wrt=()).map_partitions(frame), "shape", "has shape"),
    ):
        with pytest.raises(ag.AgradError, match=message) as caught:
            call()
        assert caught.value.kind == kind


def test_dasks_own_functions_take_a_compiled_function():
    x, _ = columns(50)
    f = ag.compile(lambda x: ag.sin(x) ** 2, 1.0, backend="python")
    found = da.from_array(x, chunks=20).map_blocks(lambda block: f.map(block)[0], dtype=float)
    assert same(found.compute(), f.map(x)[0])


def test_a_pickle_is_compiled_once_in_a_process():
    f = ag.compile(lambda x: ag.sin(x) ** 2, 1.0)
    first = pickle.loads(cloudpickle.dumps(f))
    assert pickle.loads(cloudpickle.dumps(f)) is first
    assert pickle.loads(cloudpickle.dumps(first)) is first
    assert pickle.loads(cloudpickle.dumps(ag.compile(lambda x: ag.sin(x) ** 2, 1.0))) is not first


def test_a_worker_without_machine_code_says_so_where_others_have_it(monkeypatch):
    values, _ = ag.compile(of_numbers, 1.0, 2.0).map(da.ones(3), 2.0)
    monkeypatch.setattr(dask_arrays, "binding", lambda: None)
    without, _ = ag.compile(of_numbers, 1.0, 2.0).map(da.ones(3), 2.0)  # as python, whatever the workers have

    def missing():
        raise ag.AgradError("extra", "machine code needs llvmlite")

    monkeypatch.setattr(dask_arrays, "llvmlite", missing)
    if binding():
        refuses(values.compute, "machine code needs llvmlite")
    assert same(without.compute(), ag.compile(of_numbers, 1.0, 2.0, backend="python").map(np.ones(3), 2.0)[0])


def test_dask_is_not_imported_for_other_columns():
    program = (
        "import sys, numpy as np, agrad.engine as ag\n"
        "ag.compile(lambda x: x * x, 1.0).map(np.ones(3))\n"
        "print([name for name in ('dask', 'pandas') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.long
def test_a_cluster_gives_the_same_bits_and_compiles_once_in_each_process(tmp_path):
    distributed = pytest.importorskip("distributed")
    traces = tmp_path / "traces"

    def noted(x, y):
        import os

        with open(traces, "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
        return ag.sin(x) * y + ag.exp(-x * x)

    x, y = columns(200_000)
    f = ag.compile(noted, 1.0, 2.0)
    values, (by_x, _) = ag.compile(noted, 1.0, 2.0).map(x, y)
    with (
        dask.config.set({"temporary-directory": str(tmp_path)}),
        distributed.LocalCluster(2, threads_per_worker=2, dashboard_address="127.0.0.1:0") as cluster,
        distributed.Client(cluster) as client,
    ):
        counts = []
        for chunks in (50_000, 4_000):
            traces.write_text("")
            mapped, (slopes, _) = ag.compile(noted, 1.0, 2.0).map(
                da.from_array(x, chunks=chunks), da.from_array(y, chunks=chunks)
            )
            here = traces.read_text().split()[0]
            found, by = client.gather(client.compute([mapped, slopes]))
            assert same(found, values)
            assert same(by, by_x)
            counts.append({*map(traces.read_text().split().count, {*traces.read_text().split()} - {here})})
        assert len(counts[0] | counts[1]) == 1  # however many blocks there are
        again = da.from_array(x, chunks=4_000).map_blocks(lambda block: f.map(block, 1.0)[0], dtype=float)
        assert np.allclose(again.compute(), f.map(x, 1.0)[0])
