# Actor and critic with one body, namedtuple of saved actions, smooth l1 loss.
from collections import namedtuple
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical

SavedAction = namedtuple('SavedAction', ['log_prob', 'value'])


class Policy(nn.Module):
    def __init__(self):
        super(Policy, self).__init__()
        self.affine1 = nn.Linear(2, 6)
        self.action_head = nn.Linear(6, 2)
        self.value_head = nn.Linear(6, 1)
        self.saved_actions = []
        self.rewards = []

    def forward(self, x):
        x = F.relu(self.affine1(x))
        action_prob = F.softmax(self.action_head(x), dim=-1)
        state_values = self.value_head(x)
        return action_prob, state_values


torch.manual_seed(3)
model = Policy()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-2)
for episode in range(4):
    state = torch.tensor([0.5, -0.5])
    for t in range(6):
        probs, state_value = model(state)
        m = Categorical(probs)
        action = m.sample()
        model.saved_actions.append(SavedAction(m.log_prob(action), state_value))
        state = state * 0.9 + (action.item() - 0.5)
        model.rewards.append(-state.abs().sum().item())
    R, policy_losses, value_losses, returns = 0, [], [], []
    for r in model.rewards[::-1]:
        R = r + 0.99 * R
        returns.insert(0, R)
    returns = torch.tensor(returns)
    returns = (returns - returns.mean()) / (returns.std() + 1e-8)
    for (log_prob, value), R in zip(model.saved_actions, returns):
        advantage = R - value.item()
        policy_losses.append(-log_prob * advantage)
        value_losses.append(F.smooth_l1_loss(value, torch.tensor([R])))
    optimizer.zero_grad()
    loss = torch.stack(policy_losses).sum() + torch.stack(value_losses).sum()
    loss.backward()
    optimizer.step()
    print(episode, f"{loss.item():.4f} {sum(model.rewards):.4f}")
    del model.rewards[:]
    del model.saved_actions[:]
