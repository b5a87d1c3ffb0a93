"""Sums of products of two arrays as products of matrices: the sums of einsum itself, and their derivatives."""

import numpy as np
from rows import each

import agrad.engine as ag
from agrad.engine.ops.linalg import einsum

SIZES = {"i": 3, "j": 5, "k": 7, "m": 11, "n": 2}
PAIRS = """
ij,jk->ik ij,jk->ki ji,kj->ik ijk,mik->mij ijk,mik->jmi mij,mik->ijk ijkm,ikmn->in ij,jkm->mik ij,ij-> ijk,jki->
ij,j->i j,ij->i ijk,jkm->jim ijkm,njkm->ijn ij,jk->k ii,ij->j ij,km->ijkm ijk,ij->k ijk,ijk->ij
"""


@each("text", PAIRS.split())
def test_a_pair_is_summed_as_by_numpy_however_it_is_laid_out(text, monkeypatch):
    monkeypatch.setattr(einsum, "_FEWEST_PRODUCTS", 1)
    rng = np.random.default_rng(1)
    terms = text.partition("->")[0].split(",")
    for turned in (False, True):
        given = [rng.normal(size=[SIZES[letter] for letter in term]) for term in terms]
        given = [np.asfortranarray(x) if turned else x for x in given]
        found = ag.einsum(text, *given)
        np.testing.assert_allclose(found, np.einsum(text, *given), rtol=1e-13, atol=1e-14)
        directions = [rng.normal(size=x.shape) for x in given]
        pushed = ag.jvp(lambda x, y: ag.sum(ag.sin(ag.einsum(text, x, y))), tuple(given), tuple(directions))
        gradients = ag.grad(lambda x, y: ag.sum(ag.sin(ag.einsum(text, x, y))), (0, 1))(*given)
        pulled = sum(float(np.sum(np.asarray(g) * v)) for g, v in zip(gradients, directions, strict=True))
        np.testing.assert_allclose(float(pushed), pulled, rtol=1e-10, atol=1e-11)


def test_lengths_of_one_are_still_spread():
    x, y = np.ones((1, 40)), np.arange(1600.0).reshape(40, 40)
    np.testing.assert_array_equal(ag.einsum("ij,ij->i", x, y), np.einsum("ij,ij->i", x, y))
