"""Programs for Gym until 0.25 find its environments, made of those of gymnasium; programs of today find today's."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.programs.running import output_of, penstock_run

CASES = {
    "steps of four values, until the time limit": (
        "import gym\nenv = gym.make('MountainCar-v0')\nenv.seed(1)\nstate, steps, done = env.reset(), 0, False\n"
        "while not done:\n    state, reward, done, info = env.step(env.action_space.sample())\n    steps += 1\n"
        "print(state.shape, reward, steps, info, env.spec.timestep_limit, env._max_episode_steps)\n",
        "(2,) -1.0 200 {'TimeLimit.truncated': True} 200 200\n",
    ),
    "a seed gives the same episode": (
        "import gym\nenv = gym.make('CartPole-v0')\n"
        "first, again = [(env.seed(5), env.reset().tolist()) for _ in range(2)]\n"
        "print(first == again, env.reset().tolist() == first[1])\n",
        "True False\n",
    ),
    "environments with goals": (
        "import gym\nfrom gym import GoalEnv, spaces\nfrom gym.core import GoalEnv as again\n"
        "class Reach(GoalEnv):\n    def __init__(self, keys):\n"
        "        self.observation_space = spaces.Dict({key: spaces.Discrete(2) for key in keys})\n"
        "    def reset(self):\n        super(Reach, self).reset()\n        return dict(observation=0)\n"
        "print(again is GoalEnv is gym.GoalEnv, Reach(['observation', 'achieved_goal', 'desired_goal']).reset())\n"
        "try:\n    Reach(['observation']).reset()\nexcept KeyError as error:\n    print(str(error)[:8])\n",
        "True {'observation': 0}\n\"GoalEnv\n",
    ),
    "the environment without its limit of time": (
        "import gym\nfrom gym import wrappers\nenv = gym.make('Taxi-v2').env\nenv.seed(1)\n"
        "print(type(env.reset()).__name__, len(env.step(0)), env.action_space.n, env.observation_space.n)\n"
        "def steps(env):\n    env.reset()\n    count, done = 0, False\n    while not done and count < 300:\n"
        "        _, _, done, _ = env.step(0)\n        count += 1\n    return count\n"
        "env = gym.make('MountainCar-v0')\nprint(steps(env), steps(env.env), steps(wrappers.Monitor(env.env, '.')))\n"
        "env._max_episode_steps = 250\nprint(steps(env), env._max_episode_steps, env.env.unwrapped.max_speed)\n",
        "int 4 6 500\n200 300 300\n250 250 0.07\n",
    ),
    "the environment inside, and its attributes": (
        "import gym\nimport numpy as np\nenv = gym.make('CartPole-v0').unwrapped\nenv.reset()\n"
        "env.state = np.full(4, 0.25)\nprint(env.unwrapped.state[0], len(env.step(0)), env.x_threshold)\n"
        "print(isinstance(env, gym.Env), isinstance(env.action_space, gym.spaces.Discrete))\n",
        "0.25 4 2.4\nTrue True\n",
    ),
    "names of then, with entry points that say what kind they are": (
        "import gym\nfrom gym.envs.registration import registry\n"
        "kinds = {each.id: each.entry_point.split(':')[0].split('.')[-1] for each in gym.envs.registry.all()}\n"
        "print(*(kinds[name] for name in ('Pendulum-v0', 'CartPole-v1', 'HalfCheetah-v1', 'FrozenLake-v0')))\n"
        "print('Taxi-v2' in registry.env_specs, registry.spec('Pendulum-v0')._entry_point)\n"
        "class Walk(gym.Env):\n    def reset(self):\n        return 0\n"
        "gym.register(id='Walk-v0', entry_point=Walk)\nprint('Walk-v0' in [each.id for each in registry.all()])\n"
        "print(gym.make('Pendulum-v0').reset().shape)\n",
        "classic_control classic_control mujoco toy_text\nTrue gym.envs.classic_control:PendulumEnv\nTrue\n(3,)\n",
    ),
    "what spaces of the program draw samples with": (
        "import gym\nimport gym.spaces\nfrom gym.spaces import prng\nprng.seed(3)\n"
        "print(prng.np_random.rand(), gym.spaces.prng.np_random.randint(9, size=2).shape)\n",
        "0.5507979025745755 (2,)\n",
    ),
    "the random numbers of then for a seed (values of Gym 0.12)": (
        "import gym\nfrom gym.utils import seeding\nimport numpy as np\nenv = gym.make('CartPole-v0')\n"
        "print(env.seed(0), env.reset().round(6), env.unwrapped.np_random.randint(1, 31) < 31)\n"
        "env = gym.make('FrozenLake-v1')\nprint(env.seed(7), env.reset(), [env.step(2)[0] for _ in range(8)])\n"
        "random, seed = seeding.np_random(42)\nprint(seed, random.randint(100, size=5), random.rand(2))\n"
        "print(seeding.hash_seed(43) % 2**31, gym.spaces.Discrete(0).n, gym.spaces.Box(-1, 1, 3).shape)\n",
        "[0] [-0.044564  0.046539  0.013269 -0.020998] True\n[7] 0 [0, 1, 1, 2, 3, 3, 7, 7]\n"
        "42 [75 25 61 29 59] [0.55609416 0.68422647]\n742738649 0 (3,)\n",
    ),
    "wrappers of the program": (
        "import gym\nfrom gym.spaces.box import Box\nfrom gym import wrappers\n"
        "class Half(gym.ObservationWrapper):\n    def observation(self, observation):\n"
        "        return observation.size\n"
        "class Cost(gym.RewardWrapper):\n    def reward(self, reward):\n        return -reward\n"
        "class Twice(gym.Wrapper):\n    def __init__(self, env):\n        gym.Wrapper.__init__(self, env)\n"
        "    def step(self, action):\n        self.env.step(action)\n        return self.env.step(action)\n"
        "env = wrappers.Monitor(Twice(Cost(Half(gym.make('CartPole-v0')))), 'videos', force=True)\n"
        "print(env.reset(), env.step(0), isinstance(env.observation_space, Box), env.unwrapped.x_threshold)\n",
        "4 (4, -1.0, False, {}) True 2.4\n",
    ),
    "wrappers of the program, with the methods of until Gym 0.9": (
        "import gym\n"
        "class Half(gym.ObservationWrapper):\n    def _observation(self, observation):\n"
        "        return observation.size\n"
        "class Cost(gym.RewardWrapper):\n    def _reward(self, reward):\n        return -reward\n"
        "class Twice(gym.Wrapper):\n    def _step(self, action):\n        self.env.step(action)\n"
        "        return self.env.step(action)\n    def _reset(self):\n        return self.env.reset(), 'again'\n"
        "env = Twice(Cost(Half(gym.make('CartPole-v0'))))\nprint(env.reset(), env.step(0))\n",
        "(4, 'again') (4, -1.0, False, {})\n",
    ),
    "a monitor's counts, and lists of games": (
        "import gym\nfrom gym import wrappers\nenv = wrappers.Monitor(gym.make('MountainCar-v0'), 'videos')\n"
        "env.reset()\nfor _ in range(203):\n    done = env.step(0)[2]\n    if done:\n        env.reset()\n"
        "print(env.get_episode_rewards(), env.get_episode_lengths(), env.get_total_steps())\n"
        "task = gym.benchmark_spec('Atari40M').tasks[3]\nprint(task.env_id, task.max_timesteps)\n",
        "[-200.0] [200] 203\nPongNoFrameskip-v4 40000000\n",
    ),
    "an environment of the program, registered with a limit": (
        "import gym\nfrom gym.envs.registration import register\n"
        "class Walk(gym.Env):\n    def __init__(self, n):\n        self.n = n\n"
        "    def reset(self):\n        self.s = 0\n        return self.s\n"
        "    def step(self, a):\n        self.s += a\n        return self.s, -1.0, self.s >= self.n, {}\n"
        "register(id='Walk-v0', entry_point='__main__:Walk', kwargs={'n': 2}, timestep_limit=3)\n"
        "env = gym.make('Walk-v0')\nenv.seed(1)\nprint(env.reset(), env.step(1), env.step(1), env.spec.id)\n"
        "print(env.reset(), [env.step(0)[2] for _ in range(3)], env.unwrapped.n, env.s)\n",
        "0 (1, -1.0, False, {}) (2, -1.0, True, {}) Walk-v0\n0 [False, False, True] 2 0\n",
    ),
    "an environment of the program, of today": (
        "import gym\n"
        "class Walk(gym.Env):\n    observation_space = action_space = gym.spaces.Discrete(3)\n"
        "    def reset(self, seed=None, options=None):\n        return 0, {}\n"
        "    def step(self, a):\n        return 1, -1.0, True, False, {}\n"
        "gym.register(id='Walk-v0', entry_point='__main__:Walk', kwargs=None)\nenv = gym.make('Walk-v0')\n"
        "state, info = env.reset()\nstate, reward, terminated, truncated, info = env.step(0)\n"
        "print(state, terminated)\n",
        "1 True\n",
    ),
    "methods with an underscore, until Gym 0.9.6": (
        "import gym\n"
        "class Walk(gym.Env):\n    def _reset(self):\n        return 1\n"
        "    def _step(self, a):\n        return 2, 0.0, True, {}\n"
        "class Ten(gym.ObservationWrapper):\n    def _observation(self, s):\n        return 10 * s\n"
        "class Twice(gym.Wrapper):\n    def _step(self, a):\n        self.env.step(a)\n"
        "        return self.env.step(a)\nenv = Twice(Ten(Walk()))\nprint(env.reset(), env.step(0), env.seed(3))\n"
        "print(len(Twice(gym.make('CartPole-v0')).reset()))\n",
        "10 (20, 0.0, True, {}) []\n4\n",
    ),
    "environments that are tables, until Gym 0.21": (
        "from gym.envs.toy_text import discrete\n"
        "P = {s: {a: [(1.0, (s + a) % 3, float(a), s + a > 2)] for a in range(2)} for s in range(3)}\n"
        "class Ring(discrete.DiscreteEnv):\n    def __init__(self):\n"
        "        super(Ring, self).__init__(3, 2, P, [0.0, 0.0, 1.0])\n"
        "env = Ring()\nprint(env.nS, env.reset(), env.step(0), env.step(1), env.lastaction, env.action_space.n)\n"
        "print(discrete.categorical_sample([0.0, 1.0, 0.0], env.np_random))\n",
        "3 2 (2, 0.0, False, {'prob': 1.0}) (0, 1.0, True, {'prob': 1.0}) 1 2\n1\n",
    ),
    "dicts of observations as one array": (
        "import gym, numpy as np\nfrom gym.wrappers import FlattenDictWrapper\n"
        "box = lambda n: gym.spaces.Box(-1, 1, shape=(n,), dtype=np.float32)\n"
        "class Reach(gym.Env):\n    observation_space = gym.spaces.Dict({'at': box(2), 'goal': box(3)})\n"
        "    def reset(self):\n        return {'at': np.ones(2), 'goal': np.zeros(3)}\n"
        "    def step(self, a):\n        return {'at': np.ones(2) * a, 'goal': np.zeros(3)}, 1.0, False, {}\n"
        "env = FlattenDictWrapper(Reach(), dict_keys=['goal', 'at'])\n"
        "print(env.reset(), env.observation_space.shape, env.step(2)[0])\n",
        "[0. 0. 0. 1. 1.] (5,) [0. 0. 0. 2. 2.]\n",
    ),
    "the level of its log": ("import gym\nprint(gym.logger.MIN_LEVEL)\n", "30\n"),
    "a program of today": (
        "import gymnasium as gym\nenv = gym.make('CartPole-v1')\nstate, info = env.reset(seed=1)\n"
        "print(info, len(env.step(0)))\n",
        "{} 5\n",
    ),
    "a program of today, where gym is asked for": (
        "import gym\nenv = gym.make('CartPole-v1')\nstate, info = env.reset()\nprint(info, env.reset()[0].shape)\n"
        "state, reward, terminated, truncated, info = env.step(0)\nprint(terminated, truncated)\n"
        "print(len(gym.make('CartPole-v1', render_mode='rgb_array').reset()))\n",
        "{} (4,)\nFalse False\n2\n",
    ),
}


@pytest.mark.parametrize("text, printed", CASES.values(), ids=CASES)
def test_what_programs_print(text: str, printed: str, tmp_path: Path) -> None:
    assert output_of(tmp_path, text, PYTHONWARNINGS="ignore") == printed


def test_versions_that_are_no_more_are_told(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(
        "import gym\nprint(gym.make('Pendulum-v0').reset().shape, gym.spec('Pendulum-v0').timestep_limit)\n"
    )
    found = penstock_run(tmp_path, "program.py")
    assert found.stdout == "(3,) 200\n" and "Pendulum-v1 for Pendulum-v0" in found.stderr


def test_a_version_whose_library_is_not_there_gives_way_to_the_next(tmp_path: Path) -> None:
    text = (
        "import gym\nfrom gym.envs.registration import register\n"
        "def old(**options): raise gym.error.DependencyNotInstalled('no mujoco_py')\n"
        "register('Arm-v2', entry_point=old)\nregister('Leg-v2', entry_point=old)\n"
        "register('Arm-v4', entry_point='gym.envs.classic_control:CartPoleEnv')\n"
        "print(gym.make('Arm-v1').reset().shape)\n"
        "try: gym.make('Leg-v2')\nexcept gym.error.DependencyNotInstalled as error: print(error)\n"
    )
    (tmp_path / "program.py").write_text(text)
    found = penstock_run(tmp_path, "program.py")
    assert found.stdout == "(4,)\nno mujoco_py\n", found.stderr
    assert "Arm-v4 for Arm-v1" in found.stderr


def test_names_of_ataris_games_say_how_often_they_show_a_screen(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text(
        "import gymnasium, numpy as np\n"
        "class Toy(gymnasium.Env):\n    action_space = gymnasium.spaces.Discrete(2)\n"
        "    observation_space = gymnasium.spaces.Box(0, 255, (2,), np.uint8)\n"
        "    def __init__(self, **options):\n        self.ale = sorted(options.items(), key=str)\n"
        "    def reset(self, **options):\n        return np.zeros(2, np.uint8), {}\n"
        "    def step(self, action):\n        return np.ones(2, np.uint8), 1.0, False, False, {'lives': 3}\n"
        "gymnasium.register('ALE/Toy-v5', entry_point=Toy)\n"
    )
    text = (
        "import toy, gym\nfor name in 'ToyDeterministic-v4', 'Toy-ramNoFrameskip-v4', 'Toy-v0':\n"
        "    print(gym.make(name).env.ale)\n"
        "env = gym.make('Toy-v4')\nenv.reset()\nprint(isinstance(env.action_space, gym.spaces.Discrete))\n"
        "print(type(env.observation_space) is gym.spaces.Box, env.observation_space.dtype)\n"
        "_, reward, done, info = env.step(0)\nprint(info['ale.lives'])\n"
    )
    assert output_of(tmp_path, text, PYTHONWARNINGS="ignore").splitlines() == [
        "[('frameskip', 4), ('obs_type', 'rgb'), ('repeat_action_probability', 0.0)]",
        "[('frameskip', 1), ('obs_type', 'ram'), ('repeat_action_probability', 0.0)]",
        "[('frameskip', (2, 5)), ('obs_type', 'rgb'), ('repeat_action_probability', 0.25)]",
        "True",
        "True uint8",
        "3",
    ]
