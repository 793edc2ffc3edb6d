"""Small models of the shapes people compile, with random weights: no downloads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Model = tuple[nn.Module, Callable[[int], tuple[torch.Tensor, ...]]]


class Logits(nn.Module):
    """The one tensor of a transformers model's output that the tests look at."""

    def __init__(self, model: nn.Module, name: str) -> None:
        super().__init__()
        self.model = model
        self.name = name

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = getattr(self.model(x), self.name)
        return found


def _random(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(shape[0]))


def _tokens(batch: int) -> tuple[torch.Tensor, ...]:
    return (torch.randint(0, 100, (batch, 11), generator=torch.Generator().manual_seed(batch)),)


def _images(batch: int) -> tuple[torch.Tensor, ...]:
    return (_random(batch, 3, 32, 32),)


def mlp() -> Model:
    return nn.Sequential(nn.Linear(24, 32), nn.ReLU(), nn.Linear(32, 8)), lambda batch: (_random(batch, 24),)


class Pooling(nn.Module):
    """PyTorch compiles it into a variant for even sizes, and one for odd ones, both under one key."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return nn.functional.avg_pool2d(x.relu(), 3, 2, ceil_mode=True)


def pooling() -> Model:
    return Pooling(), lambda size: (_random(2, 3, size, size),)


def _transformers() -> Any:
    import transformers

    transformers.logging.set_verbosity_error()
    return transformers


_SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 64}


def bert() -> Model:
    t = _transformers()
    config = t.BertConfig(vocab_size=100, max_position_embeddings=64, **_SMALL)
    return Logits(t.BertModel(config, add_pooling_layer=False), "last_hidden_state"), _tokens


def gpt2() -> Model:
    t = _transformers()
    config = t.GPT2Config(vocab_size=100, n_positions=64, n_embd=32, n_layer=2, n_head=2, use_cache=False)
    return Logits(t.GPT2LMHeadModel(config), "logits"), _tokens


def llama() -> Model:
    t = _transformers()
    config = t.LlamaConfig(vocab_size=100, num_key_value_heads=2, max_position_embeddings=64, use_cache=False, **_SMALL)
    return Logits(t.LlamaForCausalLM(config), "logits"), _tokens


def vit() -> Model:
    t = _transformers()
    config = t.ViTConfig(image_size=32, patch_size=8, **_SMALL)
    return Logits(t.ViTModel(config, add_pooling_layer=False), "last_hidden_state"), _images


def resnet18() -> Model:
    t = _transformers()
    config = t.ResNetConfig(embedding_size=16, hidden_sizes=[16, 32, 64, 128], depths=[2, 2, 2, 2], layer_type="basic")
    return Logits(t.ResNetModel(config), "last_hidden_state"), _images


MODELS: dict[str, Callable[[], Model]] = {
    "mlp": mlp,
    "pooling": pooling,
    "bert": bert,
    "gpt2": gpt2,
    "llama": llama,
    "vit": vit,
    "resnet18": resnet18,
}


def make(name: str) -> Model:
    torch.manual_seed(0)
    module, inputs = MODELS[name]()
    # Without dropout, so that numbers can be compared.
    return module.eval(), inputs
