package segment2

import (
	"github.com/stele-go/stele/logstore/internal/block"
	"github.com/stele-go/stele/logstore/internal/template"
)

// knownCodec reports whether this program decodes blocks of a codec.
func knownCodec(codec uint16) bool { return codec == CodecLines || codec == CodecColumns }

// open opens a block, which refers to these templates.
func open(d *block.Decoder, p []byte, templates *template.Dictionary) error {
	if err := d.Open(p); err != nil {
		return err
	}
	d.SetTemplates(templates)
	return nil
}

// decode decodes a block, which refers to these templates.
func decode(d *block.Decoder, p []byte, templates *template.Dictionary) (times []int64, err error) {
	if err := open(d, p, templates); err != nil {
		return nil, err
	}
	if times, err = d.Times(); err != nil {
		return nil, err
	}
	return times, d.Lines()
}
