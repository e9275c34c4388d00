package lokipush

import (
	"fmt"
	"slices"
	"strings"

	"github.com/stele-go/stele/logstore"
)

// metadata returns the metadata of an entry, with its level if that is to be found.
func (d *Decoder) metadata(line, raw []byte) (logstore.Labels, error) {
	detect := d.cache.detects()
	if d.names == 0 && !detect {
		return logstore.Labels{}, nil
	}
	if !detect && raw != nil && len(raw) == len(d.lastRaw) && string(raw) == string(d.lastRaw) {
		return d.lastMeta, nil
	}
	if err := d.checkMetadata(); err != nil {
		return logstore.Labels{}, err
	}
	if d.names > 0 {
		if err := d.memory.take(int64(d.metaBytes + 2*d.names + metadataBytes)); err != nil {
			return logstore.Labels{}, err
		}
	}
	if detect {
		level := level(&d.set, d.pairs, line)
		if len(d.pairs) == 0 {
			return d.cache.levelAlone(level), nil
		}
		d.pairs = slices.DeleteFunc(d.pairs, func(l logstore.Label) bool { return l.Name == LevelName })
		d.pairs = append(d.pairs, logstore.Label{Name: LevelName, Value: level})
	}
	meta, err := logstore.NewLabels(d.pairs...)
	if err != nil {
		meta, err = logstore.NewLabels(mended(d.pairs)...)
	}
	if err == nil {
		d.lastRaw, d.lastMeta = raw, meta
	}
	return meta, err
}

// mended returns metadata without what a store refuses and Loki takes: of a name that is
// there twice it keeps the last value, and what is not UTF-8 is replaced.
func mended(pairs []logstore.Label) []logstore.Label {
	last := make(map[string]string, len(pairs))
	for _, p := range pairs {
		if p.Name != "" {
			last[strings.ToValidUTF8(p.Name, "\uFFFD")] = strings.ToValidUTF8(p.Value, "\uFFFD")
		}
	}
	list := make([]logstore.Label, 0, len(last))
	for name, value := range last {
		list = append(list, logstore.Label{Name: name, Value: value})
	}
	return list
}

// addPair adds a name and a value of metadata. Those beyond the limit are counted only.
func (d *Decoder) addPair(l logstore.Label) {
	d.names++
	d.metaBytes += len(l.Name) + len(l.Value)
	if d.names <= d.limits.Metadata {
		d.pairs = append(d.pairs, l)
	}
}

// beginEntry forgets the metadata of the entry before.
func (d *Decoder) beginEntry() { d.pairs, d.names, d.metaBytes = d.pairs[:0], 0, 0 }

func (d *Decoder) checkMetadata() error {
	if d.names > d.limits.Metadata {
		return fmt.Errorf("the entry has %d names of metadata; want at most %d", d.names, d.limits.Metadata)
	}
	if d.metaBytes > d.limits.MetadataBytes {
		return fmt.Errorf("the entry has %d bytes of metadata; want at most %d", d.metaBytes, d.limits.MetadataBytes)
	}
	return nil
}
