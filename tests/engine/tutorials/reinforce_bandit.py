# pytorch/examples' REINFORCE and actor-critic on a toy bandit and a corridor.
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical

torch.manual_seed(543)


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(4, 8)
        self.dropout = nn.Dropout(p=0.1)
        self.affine2 = nn.Linear(8, 2)
        self.saved_log_probs = []
        self.rewards = []

    def forward(self, x):
        x = self.affine1(x)
        x = self.dropout(x)
        x = F.relu(x)
        return F.softmax(self.affine2(x), dim=1)


class Corridor:
    def reset(self):
        self.place, self.time = 1, 0
        return self.state()

    def state(self):
        return [float(self.place == i) for i in range(4)]

    def step(self, action):
        self.place = max(0, min(3, self.place + (1 if action else -1)))
        self.time += 1
        return self.state(), 1.0 if self.place == 3 else -0.1, self.place == 3 or self.time == 8


policy = Policy()
optimizer = optim.Adam(policy.parameters(), lr=3e-2)
eps = 1e-9


def select_action(state):
    state = torch.tensor(state).unsqueeze(0)
    probs = policy(state)
    m = Categorical(probs)
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode():
    R = 0
    policy_loss = []
    returns = []
    for r in policy.rewards[::-1]:
        R = r + 0.9 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + eps) if len(returns) > 1 else returns
    for log_prob, R in zip(policy.saved_log_probs, returns):
        policy_loss.append(-log_prob * R)
    optimizer.zero_grad()
    policy_loss = torch.cat(policy_loss).sum()
    policy_loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]


env, running_reward = Corridor(), 0
for i_episode in range(12):
    state, ep_reward, done = env.reset(), 0, False
    while not done:
        action = select_action(state)
        state, reward, done = env.step(action)
        policy.rewards.append(reward)
        ep_reward += reward
    running_reward = 0.05 * ep_reward + (1 - 0.05) * running_reward
    finish_episode()
    if i_episode % 4 == 3:
        print(f"Episode {i_episode}\tLast reward: {ep_reward:.2f}\tAverage reward: {running_reward:.2f}")
logits = torch.zeros(3, requires_grad=True)
means = torch.tensor([0.1, 0.5, 0.9])
opt = torch.optim.SGD([logits], lr=0.3)
for t in range(30):
    dist = Categorical(logits=logits)
    a = dist.sample((8,))
    r = torch.bernoulli(means[a])
    loss = -(dist.log_prob(a) * (r - r.mean())).mean() - 0.01 * dist.entropy()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(torch.softmax(logits, 0), Categorical(logits=logits).entropy())
