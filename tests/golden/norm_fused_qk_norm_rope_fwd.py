# FusedQKNormRoPEFwdOp
_set0 = _G_dtype_set(('float16', 'bfloat16'))
_set1 = _G_dtype_set(('float16', 'bfloat16', 'float32'))


def infer(qkv, q_weight, k_weight, cos_sin_cache, positions, num_heads, num_kv_heads, eps, rope_layout):
    _device = qkv.device
    if rope_layout not in ('neox', 'interleaved'):
        _G_reject(locals())
    _c = _G_conjunction((num_heads > 0), lambda: (num_kv_heads > 0))
    if _c is not True:
        _G_require(_c, locals())
    _qkv_shape = qkv.shape
    if len(_qkv_shape) != 2:
        _G_reject(locals())
    _qkv_dtype = qkv.dtype
    if _qkv_dtype not in _set0:
        _G_reject(locals())
    if not _G_is_contiguous(qkv):
        _G_reject(locals())
    N = _qkv_shape[0]
    _q_weight_shape = q_weight.shape
    if len(_q_weight_shape) != 1:
        _G_reject(locals())
    if q_weight.dtype != _qkv_dtype:
        _G_reject(locals())
    if q_weight.device != _device:
        _G_reject(locals())
    D = _q_weight_shape[0]
    _k_weight_shape = k_weight.shape
    if len(_k_weight_shape) != 1:
        _G_reject(locals())
    if k_weight.dtype != _qkv_dtype:
        _G_reject(locals())
    if k_weight.device != _device:
        _G_reject(locals())
    _c = _k_weight_shape[0] == D
    if _c is not True:
        _G_require(_c, locals())
    _cos_sin_cache_shape = cos_sin_cache.shape
    if len(_cos_sin_cache_shape) != 2:
        _G_reject(locals())
    _cos_sin_cache_dtype = cos_sin_cache.dtype
    if _cos_sin_cache_dtype not in _set1:
        _G_reject(locals())
    if cos_sin_cache.device != _device:
        _G_reject(locals())
    P, R = _cos_sin_cache_shape
    _positions_shape = positions.shape
    if len(_positions_shape) != 1:
        _G_reject(locals())
    if positions.dtype != _G_dtypes['int64']:
        _G_reject(locals())
    if positions.device != _device:
        _G_reject(locals())
    _c = _positions_shape[0] == N
    if _c is not True:
        _G_require(_c, locals())
    _c = _qkv_shape[1] == ((num_heads + (2 * num_kv_heads)) * D)
    if _c is not True:
        _G_require(_c, locals())
    _c = _G_conjunction(((R % 2) == 0), lambda: (R <= D))
    if _c is not True:
        _G_require(_c, locals())
    return _device, (), (D, N, P, R)
