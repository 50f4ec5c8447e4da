"""Teaches a language model to choose passes, with TRL's GRPO.

    python grpo.py --model Qwen/Qwen3-0.6B --steps 200      # A real model, with a GPU.
    python grpo.py                                          # A tiny random one, on the CPU.

Needs trl, jmespath and torch: pip install 'trl>=1.16' jmespath. The tiny model knows no language:
each word of its vocabulary is a whole call of a tool, so that it plays from the first step.
"""

import argparse
import json
import os
import tempfile
import time

os.environ.setdefault("TRL_EXPERIMENTAL_SILENCE", "1")

import torch
from datasets import Dataset
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM, TrainerCallback
from trl import GRPOConfig, GRPOTrainer, chat_template_utils

from compiler_gym.agents.tasks import tasks_of
from compiler_gym.agents.trl import CompilerTask, prepare

PROMPT = "Make the program smaller with the tools, then call submit."
WORDS = ("sroa", "mem2reg", "early-cse", "simplifycfg", "instcombine", "gvn", "dse", "reg2mem")


def tool_call(name: str, **arguments: object) -> str:
    """The text by which a model calls a tool."""
    call = json.dumps({"name": name, "arguments": arguments})
    return f"<tool_call>\n{call}\n</tool_call>"


def tiny_model() -> tuple[Qwen3ForCausalLM, PreTrainedTokenizerFast, list[int]]:
    """A random model, its tokenizer, and the tokens that it is not to say: the single bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    raw = Tokenizer(models.BPE({each: number for number, each in enumerate(alphabet)}, []))
    raw.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    raw.decoder = decoders.ByteLevel()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=raw, eos_token="<|im_end|>", pad_token="<|endoftext|>"
    )
    calls = [tool_call("apply_passes", passes=[name]) for name in WORDS]
    tokenizer.add_tokens([*calls, "<|im_start|>"])
    tokenizer.chat_template = chat_template_utils.qwen3_chat_template
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=16_384,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    spoken = {tokenizer.convert_tokens_to_ids(call) for call in calls} | {tokenizer.eos_token_id}
    return Qwen3ForCausalLM(config), tokenizer, sorted({*range(len(tokenizer))} - spoken)


class Report(TrainerCallback):
    """Prints the reward of each update, and the share of the time that was the environment's."""

    def __init__(self) -> None:
        self.began = time.perf_counter()

    def on_log(self, args, state, control, logs=None, **kwargs) -> None:
        if logs and "reward" in logs:
            seconds = time.perf_counter() - self.began
            print(
                f"update {state.global_step}: reward {logs['reward']:.3f} +- "
                f"{logs['reward_std']:.3f}, {seconds:.1f} s, environment "
                f"{CompilerTask.seconds / seconds:.1%}",
                flush=True,
            )


def main() -> None:
    """Trains a model."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--model", help="a model with tool calls; by default a tiny random one")
    parser.add_argument("--steps", type=int, default=2, help="the number of updates")
    parser.add_argument("--generations", type=int, default=4, help="episodes of each program")
    parser.add_argument("--tokens", type=int, default=2048, help="tokens of an episode")
    parser.add_argument("--output", help="the folder for the trained model; by default none")
    options = parser.parse_args()

    prepare()
    rows = [
        {"prompt": [{"role": "user", "content": PROMPT}], "split": "train", "index": task.index}
        for task in tasks_of("train")
    ]
    model, tokenizer, silent = options.model, None, []
    if model is None:
        model, tokenizer, silent = tiny_model()
    with tempfile.TemporaryDirectory() as folder:
        config = GRPOConfig(
            output_dir=options.output or folder,
            max_steps=options.steps,
            num_generations=options.generations,
            per_device_train_batch_size=options.generations,
            max_completion_length=options.tokens,
            max_tool_calling_iterations=8,
            generation_kwargs={"suppress_tokens": silent} if silent else None,
            learning_rate=1e-3 if options.model is None else 1e-6,
            logging_steps=1,
            save_strategy="no",
            report_to=[],
            use_cpu=not torch.cuda.is_available(),
            bf16=torch.cuda.is_available(),
            disable_tqdm=True,
            seed=0,
        )
        trainer = GRPOTrainer(
            model=model,
            args=config,
            processing_class=tokenizer,
            train_dataset=Dataset.from_list(rows),
            environment_factory=CompilerTask,
            callbacks=[Report()],
        )
        trainer.train()
        if options.output:
            trainer.save_model()


if __name__ == "__main__":
    main()
