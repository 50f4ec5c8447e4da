from compiler_gym.envs.llvm import specs


def test_lengths():
    assert len(set(specs.AUTOPHASE_FEATURE_NAMES)) == 56
    assert len(set(specs.INST_COUNT_FEATURE_NAMES)) == 70


def test_documented_positions():
    autophase = specs.AUTOPHASE_FEATURE_NAMES
    assert autophase[0] == "BBNumArgsHi"
    assert autophase[51] == "TotalInsts"
    assert autophase[55] == "testUnary"
    inst_count = specs.INST_COUNT_FEATURE_NAMES
    assert inst_count[:4] == ("TotalInsts", "TotalBlocks", "TotalFuncs", "Ret")
    assert inst_count[49:52] == ("PtrToInt", "IntToPtr", "BitCast")
    assert inst_count[69] == "Freeze"
