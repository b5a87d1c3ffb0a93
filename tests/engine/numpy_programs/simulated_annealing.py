# Simulated annealing and a genetic search on small problems.
import numpy as np

rng = np.random.default_rng(11)
cities = rng.random((8, 2))
D = np.linalg.norm(cities[:, None] - cities[None], axis=-1)


def length(tour):
    return D[tour, np.roll(tour, -1)].sum()


tour = np.arange(8)
best, T = tour.copy(), 1.0
for step in range(400):
    i, j = np.sort(rng.choice(8, 2, replace=False))
    new = tour.copy()
    new[i:j + 1] = new[i:j + 1][::-1]
    if length(new) < length(tour) or rng.random() < np.exp((length(tour) - length(new)) / T):
        tour = new
    if length(tour) < length(best):
        best = tour.copy()
    T *= 0.99
print(best, round(float(length(best)), 6))
target = np.array([1, 0, 1, 1, 0, 0, 1, 0])
population = rng.integers(0, 2, (10, 8))
for generation in range(25):
    fitness = (population == target).sum(axis=1)
    order = np.argsort(-fitness, kind="stable")
    parents = population[order[:4]]
    pairs = rng.integers(0, 4, (10, 2))
    cut = rng.integers(1, 7)
    population = np.concatenate([parents[pairs[:, 0], :cut], parents[pairs[:, 1], cut:]], axis=1)
    flip = rng.random(population.shape) < 0.02
    population = np.where(flip, 1 - population, population)
    population[0] = parents[0]
print(fitness.max(), population[0])
