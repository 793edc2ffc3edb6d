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


def t5() -> Model:
    t = _transformers()
    config = t.T5Config(vocab_size=100, d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2, use_cache=False)
    return Logits(t.T5EncoderModel(config), "last_hidden_state"), _tokens


def mamba() -> Model:
    t = _transformers()
    config = t.MambaConfig(vocab_size=100, hidden_size=32, state_size=8, num_hidden_layers=2, use_cache=False)
    return Logits(t.MambaModel(config), "last_hidden_state"), _tokens


class Recurrent(nn.Module):
    """A cell unrolled over the sequence."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.GRUCell(16, 16)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        state = torch.zeros_like(x[:, 0])
        for i in range(x.shape[1]):
            state = self.cell(x[:, i], state)
        return state


def recurrent() -> Model:
    return Recurrent(), lambda batch: (_random(batch, 6, 16),)


class UNet(nn.Module):
    """Down, up, and a connection across."""

    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.middle = nn.Sequential(nn.GroupNorm(2, 8), nn.SiLU(), nn.Conv2d(8, 8, 3, padding=1))
        self.up = nn.Conv2d(11, 3, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        deep = nn.functional.interpolate(self.middle(self.down(x)), scale_factor=2.0)
        return self.up(torch.cat([deep, x], 1))


def unet() -> Model:
    return UNet(), _images


def mobilenet() -> Model:
    """Depthwise convolutions."""
    layers = [nn.Conv2d(3, 12, 1), nn.Conv2d(12, 12, 3, padding=1, groups=12), nn.BatchNorm2d(12), nn.Hardswish()]
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 5)), _images


class Attention(nn.Module):
    """As in diffusion models: over the pixels, with a scale and shift that depend on a time."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(2, 8)
        self.qkv = nn.Conv2d(8, 24, 1)
        self.time = nn.Linear(4, 16)

    def forward(self, x: torch.Tensor, time: torch.Tensor) -> torch.Tensor:
        scale, shift = self.time(time)[:, :, None, None].chunk(2, 1)
        q, k, v = (part.flatten(2).transpose(1, 2) for part in self.qkv(self.norm(x) * (1 + scale) + shift).chunk(3, 1))
        return x + nn.functional.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)


def diffusion() -> Model:
    return Attention(), lambda batch: (_random(batch, 8, 6, 6), _random(batch, 4))


class Recommender(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.items = nn.EmbeddingBag(50, 8, mode="sum")
        self.top = nn.Sequential(nn.Linear(12, 16), nn.ReLU(), nn.Linear(16, 1))

    def forward(self, items: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
        return self.top(torch.cat([self.items(items), dense], 1)).sigmoid()


def recommender() -> Model:
    return Recommender(), lambda batch: (_tokens(batch)[0] % 50, _random(batch, 4))


class Experts(nn.Module):
    """A mixture, computed densely and weighted by the two best."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = nn.Linear(16, 4)
        self.experts = nn.ModuleList(nn.Linear(16, 16) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        best = self.gate(x).softmax(-1).topk(2)
        weights = torch.zeros(x.shape[0], 4).scatter(1, best.indices, best.values)
        return torch.stack([expert(x) for expert in self.experts], 1).mul(weights[:, :, None]).sum(1)


def experts() -> Model:
    return Experts(), lambda batch: (_random(batch, 16),)


class Graph(nn.Module):
    """Messages along the edges of a graph."""

    def __init__(self) -> None:
        super().__init__()
        self.message = nn.Linear(8, 8)

    def forward(self, nodes: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        messages = self.message(nodes)[edges[0]]
        return nodes + torch.zeros_like(nodes).index_add(0, edges[1], messages).tanh()


def graph() -> Model:
    return Graph(), lambda batch: (_random(batch, 8), torch.stack([torch.arange(batch), torch.arange(batch).flip(0)]))


class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx: Any, *gradients: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return 2 * x * gradients[0]


class OwnGradient(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        found: torch.Tensor = Square.apply(self.linear(x))
        return found.cos()


def own_gradient() -> Model:
    return OwnGradient(), lambda batch: (_random(batch, 8),)


class Spectrum(nn.Module):
    """A Fourier transform: complex numbers, which Inductor leaves to PyTorch's own kernels."""

    def __init__(self) -> None:
        super().__init__()
        self.filter = nn.Parameter(torch.ones(9))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.fft.irfft(torch.fft.rfft(x) * self.filter, n=16)


def spectrum() -> Model:
    return Spectrum(), lambda batch: (_random(batch, 16),)


class Half(nn.Module):
    """Under autocast."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 32), nn.GELU(), nn.Linear(32, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16):
            return self.layers(x)  # type: ignore[no-any-return]


def autocast() -> Model:
    return Half(), lambda batch: (_random(batch, 16),)


class Breaks(nn.Module):
    """A graph break: two graphs, the second with a value that the first computed."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 8)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.linear(x).relu()
        torch._dynamo.graph_break()
        return (x + 1).sin()


def breaks() -> Model:
    return Breaks(), lambda batch: (_random(batch, 8),)


class Normalised(nn.Module):
    """What changes buffers while it trains."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(8, 8), nn.BatchNorm1d(8), nn.ReLU())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.layers.train()
        return self.layers(x)  # type: ignore[no-any-return]


def batch_norm() -> Model:
    return Normalised(), lambda batch: (_random(batch, 8),)


class Flex(nn.Module):
    """Attention whose scores are a function of the user's."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        from torch.nn.attention.flex_attention import flex_attention

        found: Any = flex_attention(x, x, x, score_mod=lambda score, b, h, q, k: score + (q - k))
        return found  # type: ignore[no-any-return]


def flex() -> Model:
    return Flex(), lambda batch: (_random(batch, 2, 32, 16),)


MODELS: dict[str, Callable[[], Model]] = {
    "mlp": mlp,
    "pooling": pooling,
    "bert": bert,
    "gpt2": gpt2,
    "llama": llama,
    "vit": vit,
    "resnet18": resnet18,
    "t5": t5,
    "mamba": mamba,
    "recurrent": recurrent,
    "unet": unet,
    "mobilenet": mobilenet,
    "diffusion": diffusion,
    "recommender": recommender,
    "experts": experts,
    "graph": graph,
    "own_gradient": own_gradient,
    "spectrum": spectrum,
    "autocast": autocast,
    "breaks": breaks,
    "batch_norm": batch_norm,
    "flex": flex,
}

INFERENCE = frozenset(["flex"])
"""What PyTorch can't train on a CPU."""


def make(name: str) -> Model:
    torch.manual_seed(0)
    module, inputs = MODELS[name]()
    # Without dropout, so that numbers can be compared.
    return module.eval(), inputs
