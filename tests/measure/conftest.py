from hypothesis import settings

# A first example pays for importing scipy; a deadline would call that a failure.
settings.register_profile("measure", deadline=None)
settings.load_profile("measure")
