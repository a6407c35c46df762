"""A tiny transformer learns to guess the next character of Python's own source, with Hugging Face's Trainer."""

import inspect
import textwrap
from typing import Dict, List

import torch
import transformers

import determined as det
from determined.transformers import DetCallback

WINDOW = 64


def windows(text: str) -> List[Dict[str, torch.Tensor]]:
    """Pieces of the text as bytes; a model of language is told to predict its own input, shifted by one."""
    data = torch.tensor(list(text.encode("ascii", "replace")))
    pieces = [data[i : i + WINDOW] for i in range(0, len(data) - WINDOW, WINDOW)]
    return [{"input_ids": piece, "labels": piece} for piece in pieces]


def main() -> None:
    info = det.get_cluster_info()
    hparams = info.trial.hparams if info else {"lr": 0.003, "width": 32, "max_steps": 20}
    args = transformers.TrainingArguments(
        output_dir="out",
        max_steps=hparams["max_steps"],
        per_device_train_batch_size=8,
        learning_rate=hparams["lr"],
        logging_steps=10,
        eval_strategy="steps",
        eval_steps=20,
        save_steps=20,
        report_to=[],
        disable_tqdm=True,
        seed=info.trial.trial_seed if info else 0,
    )
    transformers.set_seed(args.seed)
    config = transformers.GPT2Config(
        vocab_size=128, n_positions=WINDOW, n_embd=hparams["width"], n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0
    )
    with det.core.init() as core_context:
        callback = DetCallback(core_context, args)
        trainer = transformers.Trainer(
            transformers.GPT2LMHeadModel(config),
            args,
            train_dataset=windows(inspect.getsource(textwrap) + inspect.getsource(inspect)),
            eval_dataset=windows(inspect.getsource(inspect.cleandoc) * 4),
            callbacks=[callback],
        )
        trainer.train(resume_from_checkpoint=args.resume_from_checkpoint)


if __name__ == "__main__":
    main()
