"""What several kernel families share: strides as rows (`strides`), launch configurations
(`config`), and device functions (`device`, the one module here that imports triton)."""
