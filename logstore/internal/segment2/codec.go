package segment2

// knownCodec reports whether this program decodes blocks of a codec.
func knownCodec(codec uint16) bool { return codec == CodecLines || codec == CodecColumns }
