import os

# Before anything imports litellm: no look-up of prices on the network.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
