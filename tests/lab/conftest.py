from support.one_thread import one_thread  # noqa: F401, pytest finds it here
