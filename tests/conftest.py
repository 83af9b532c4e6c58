import os

import hypothesis

# Before anything imports litellm: no look-up of prices on the network.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

# A busy machine is no failure: what is slow is found by benchmarks, not by deadlines.
hypothesis.settings.register_profile("patient", deadline=None)
hypothesis.settings.load_profile("patient")
