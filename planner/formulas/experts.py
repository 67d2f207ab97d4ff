"""Mixture of experts: memory holds every expert, a step reads those that some stream of its batch routes to.

Neither all parameters nor active parameters x batch is right: at a batch of one a step reads the active ones, at a
large one nearly all.
"""

from planner.units import BITS_PER_BYTE


def expert_params_b(params_b: float, active_params_b: float, experts: float, active_experts: float) -> float:
    """Parameters of one expert over all layers: (total - active) / (experts - active experts).

    Billions of parameters and counts give billions of parameters, 0 where every expert is active.
    Source: total = rest + E x expert and active = rest + k x expert, solved; shared experts belong to the rest.

    >>> round(expert_params_b(46.7, 12.9, 8, 2), 3)
    5.633
    """
    return (params_b - active_params_b) / (experts - active_experts) if experts > active_experts else 0


def expert_share_read(experts: float, active_experts: float, batch: float) -> float:
    """Share of the experts that some stream of a batch routes to: 1 - (1 - active / experts)^batch.

    Counts give a ratio.
    Source: expected union of independent uniform choices. Streams that route alike touch fewer.

    >>> round(expert_share_read(8, 2, 8), 4)
    0.8999
    """
    return 1 - max(1 - active_experts / experts, 0) ** batch


def params_read_b(
    streamed_params_b: float, expert_params_b: float, experts: float, active_experts: float, batch: float
) -> float:
    """Parameters that a step of a mixture of experts reads: streamed + expert x (experts x share read - active).

    Billions of parameters and counts give billions of parameters.
    Source: one token streams the rest and its k experts; a batch streams the rest once and the union of its experts.

    >>> round(params_read_b(12.9, 33.8 / 6, 8, 2, 8), 2)
    42.19
    """
    return streamed_params_b + expert_params_b * (
        experts * expert_share_read(experts, active_experts, batch) - active_experts
    )


def moe_weights_gb(
    params_b: float,
    active_params_b: float,
    experts: float,
    active_experts: float,
    weight_bits: float,
    expert_bits: float,
) -> float:
    """Weights in memory of a mixture of experts: (rest x bits + experts x expert x expert bits) / 8.

    Billions of parameters, counts and bits per weight give GB.
    Source: definition; every expert is in memory, used or not.

    >>> round(moe_weights_gb(46.7, 12.9, 8, 2, 16, 16), 1)
    93.4
    """
    return (
        params_b * weight_bits
        + experts * expert_params_b(params_b, active_params_b, experts, active_experts) * (expert_bits - weight_bits)
    ) / BITS_PER_BYTE


def streamed_moe_weights_read_gb(
    streamed_params_b: float,
    expert_params_b: float,
    experts: float,
    active_experts: float,
    weight_bits: float,
    expert_bits: float,
    batch: float,
) -> float:
    """Weights that a step of a mixture of experts reads: (rest x bits + experts x share read x expert x its bits) / 8.

    Billions of parameters, counts and bits per weight give GB.
    Source: as for the parameters read; the rest are the streamed parameters without the token's own experts.

    >>> round(streamed_moe_weights_read_gb(12.9, 33.8 / 6, 8, 2, 16, 16, 8), 2)
    84.38
    """
    return (
        (streamed_params_b - active_experts * expert_params_b) * weight_bits
        + experts * expert_share_read(experts, active_experts, batch) * expert_params_b * expert_bits
    ) / BITS_PER_BYTE


def moe_weights_read_gb(
    params_b: float,
    active_params_b: float,
    experts: float,
    active_experts: float,
    weight_bits: float,
    expert_bits: float,
    batch: float,
) -> float:
    """Weights that a step of a mixture reads, from its totals: (rest x bits + experts x share x expert x its bits) / 8.

    Billions of parameters, counts and bits per weight give GB.
    Source: as for the parameters read, every active parameter streamed.

    >>> [round(moe_weights_read_gb(46.7, 12.9, 8, 2, 16, 16, batch), 2) for batch in (1, 8, 32)]
    [25.8, 84.38, 93.39]
    """
    return streamed_moe_weights_read_gb(
        active_params_b,
        expert_params_b(params_b, active_params_b, experts, active_experts),
        experts,
        active_experts,
        weight_bits,
        expert_bits,
        batch,
    )


def moe_read_gb(
    weights_gb: float, active_weights_gb: float, experts: float, active_experts: float, batch: float
) -> float:
    """Weights that a step of a mixture reads, from its sizes: active + experts' size x (share read - active / experts).

    GB and counts give GB.
    Source: as for the parameters read; the experts hold (all - active) / (1 - active / experts) of the size.

    >>> round(moe_read_gb(93.4, 25.8, 8, 2, 8), 2)
    84.38
    """
    return (
        active_weights_gb
        + (weights_gb - active_weights_gb)
        / (1 - active_experts / experts)
        * (expert_share_read(experts, active_experts, batch) - active_experts / experts)
        if experts > active_experts
        else weights_gb
    )
