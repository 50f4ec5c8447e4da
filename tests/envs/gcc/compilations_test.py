import os

from compiler_gym.envs.gcc.compilations import forget_oldest


def test_oldest_are_forgotten(tmp_path):
    for number in range(10):
        path = tmp_path / str(number)
        path.write_bytes(bytes(100))
        os.utime(path, (number, number))
    forget_oldest(tmp_path, 1000)
    assert len(list(tmp_path.iterdir())) == 10
    forget_oldest(tmp_path, 999)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["6", "7", "8", "9"]
