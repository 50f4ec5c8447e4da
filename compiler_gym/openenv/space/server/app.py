"""The application that OpenEnv's tools look for here; it is that of the package."""

from compiler_gym.openenv.app import main, make_app

app = make_app()

if __name__ == "__main__":
    main()
