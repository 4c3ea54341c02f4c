# SPDX-License-Identifier: Apache-2.0
"""The plan of a soak: each round follows from the seed and its number alone."""
import dataclasses
import json
import random

# How long a round has actions, and how long until the next one begins at the earliest.
SHORT, LONG = (3.0, 5.0), (6.5, 10.0)
# Of CYCLE rounds, the last RESTING ones have no action that is KEPT, so that the daemon lets go of it after its minute,
# and of the free memory of its process. In the last QUIET ones, when it does, nobody asks for anything: heaps keep what
# documents take.
CYCLE, RESTING, QUIET = 18, 9, 4

GROUPS = ["{task-clock,context-switches,minor-faults,major-faults}", "{minor-faults,context-switches}"]
EXTRA = ["{context-switches,minor-faults}", "{page-faults,cpu-migrations}", "alignment-faults", "cpu-clock",
         "{minor-faults,major-faults,context-switches}"]
# Kinds of actions with how often a round has one, of each daemon or of the machine.
OF_DAEMON = {"document": 2.8, "catalogue": 0.3, "rates": 2.0, "samples": 1.2, "perf_data": 0.6, "folded": 0.5,
             "profile": 0.6, "abort": 1.0, "slow_reader": 0.3, "bad_requests": 0.8, "garbage": 0.8, "half_open": 0.5,
             "reload": 1.2, "broken_reload": 0.5, "pause": 0.4}
# The daemon keeps something for a minute after the last of these: the sampler's tables, or the catalogue of events.
KEPT = {"samples", "perf_data", "folded", "profile", "abort", "slow_reader", "catalogue"}
OF_MACHINE = {"cgroups": 2.0, "containers": 0.7, "programs": 2.0}
BROKEN = ['{"collectors": {"cpu": {"groups": [{"name": "a", "events": "nonsense-event"}]}}}',
          '{"collectors": {"cpu": {"enabled": "maybe"}}}', '{"colectors": {}}', '{"web": {"min_interval": "soon"}}',
          '{"collectors": [', '\t- a: b: c', '[]',
          '{"collectors": {"cgroup": {"groups": [{"name": "x", "events": "{task-clock"}]}}}',
          '{"collectors": {"cpu": {"groups": [{"name": "a", "events": "{cycles,cycles:p}"}]}}}']


@dataclasses.dataclass(frozen=True)
class Action:
    at: float  # seconds from the beginning of the round
    kind: str
    target: int  # the daemon's number, None where it concerns the machine
    seed: int  # of its own choices

    def __str__(self):
        return "%s%s" % (self.kind, "" if self.target is None else " of daemon %d" % (self.target + 1))


def rounds_left(number):
    """In the cycle of a round, with itself."""
    return CYCLE - number % CYCLE


def is_quiet(number):
    return rounds_left(number) <= QUIET


def round_actions(seed, number, targets, seconds, hotplug=False):
    """The actions of a round, in the order of time."""
    choice = random.Random("%d/%d" % (seed, number))
    kinds = [(kind, often, target) for target in range(targets) for kind, often in OF_DAEMON.items()]
    kinds += [(kind, often, None) for kind, often in OF_MACHINE.items()]
    kinds += [("hotplug", 0.3, None)] if hotplug else []
    if is_quiet(number):
        return []
    rests = rounds_left(number) <= RESTING
    actions = []
    for kind, often, target in kinds:
        count = int(often) + (choice.random() < often % 1)
        for _ in range(0 if rests and kind in KEPT else count):
            actions.append(Action(choice.uniform(0, seconds), kind, target, choice.getrandbits(32)))
    return sorted(actions, key=lambda action: action.at)


@dataclasses.dataclass(frozen=True)
class Variant:
    """A configuration, and which series that have no _created may begin again by it: a pattern of their text."""
    text: str
    restarts: str = ""
    samples: bool = True
    what: str = "base"


class Configurations:
    """Of one daemon: its own engine, and the cgroups below one directory."""

    def __init__(self, engine, below):
        self.engine = engine
        self.below = below

    def document(self):
        return {
            "web": {"local_operators": True, "min_interval": "0s"},
            "collectors": {
                "cpu": {"groups": [{"name": "software", "events":
                                    "{context-switches,cpu-migrations,minor-faults,major-faults}"}]},
                "cgroup": {"engine": self.engine, "linger": "1s", "max_cgroups": 500,
                           "include": [self.below, self.below + "/**"],
                           "groups": [{"name": "core", "events": GROUPS[0]}]},
            },
            "sampler": {"enabled": True, "event": "cpu-clock", "max_clients": 8, "max_seconds": 60},
        }

    def base(self):
        return Variant(json.dumps(self.document()))

    def other(self, choice):
        """One that differs from the base in one thing or several."""
        document, restarts, names = self.document(), [], []
        changes = {"groups": self.change_groups, "cgroups": self.change_cgroups, "engine": self.change_engine,
                   "cpus": self.change_cpus, "sampler": self.change_sampler, "interval": self.change_interval}
        for name in choice.sample(sorted(changes), choice.choice([1, 1, 1, 2, 3])):
            names.append(name)
            restarts += changes[name](document, choice)
        return Variant(json.dumps(document, indent=choice.choice([None, 1])), "|".join(restarts),
                       document["sampler"]["enabled"], "+".join(names))

    @staticmethod
    def change_groups(document, choice):
        for number in range(choice.randrange(1, 5)):
            document["collectors"]["cpu"]["groups"].append(
                {"name": "extra%d" % number, "events": choice.choice(EXTRA)})
        return ['group="extra']

    @staticmethod
    def change_cgroups(document, choice):
        cgroup = document["collectors"]["cgroup"]
        cgroup["per_cpu"] = choice.random() < 0.5
        cgroup["max_cgroups"] = choice.choice([3, 20, 500])
        cgroup["linger"] = choice.choice(["0s", "500ms", "3s"])
        cgroup["groups"] = [{"name": choice.choice(["core", "faults"]), "events": choice.choice(GROUPS)}]
        if choice.random() < 0.2:
            cgroup["enabled"] = False
        return []

    def change_engine(self, document, choice):
        document["collectors"]["cgroup"]["engine"] = choice.choice(["auto", "bpf" if self.engine == "perf" else "perf"])
        return []

    @staticmethod
    def change_cpus(document, choice):
        if choice.random() < 0.3:
            document["collectors"]["cpu"]["enabled"] = False
            return ["^perf_cpu_"]
        document["collectors"]["cpu"]["cpus"] = "0"
        return ['^perf_cpu_.*cpu="[1-9]']

    @staticmethod
    def change_sampler(document, choice):
        sampler = document["sampler"]
        sampler["enabled"] = choice.random() < 0.7
        sampler["frequency"] = choice.choice([49, 99, 199])
        sampler["ring_pages"] = choice.choice([8, 64, 128])
        return []

    @staticmethod
    def change_interval(document, choice):
        document["web"]["min_interval"] = choice.choice(["50ms", "1s"])
        return []
