package pipeline

import (
	"bytes"
	"encoding/binary"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/stele-go/stele/logql/internal/jsonscan"
)

// Lines of a stream mostly have the same keys in the same order. A keyCache has those of the
// last line, with what they are, so that one comparison finds a label.
type keyCache struct {
	met  []metKey
	next int
	// prefixes are the names of the objects around keys.
	prefixes []string

	known map[string]metKey // by prefix and raw
	key   []byte
}

// maxMet bounds the keys of a cache.
const maxMet = 1 << 10

type metKey struct {
	raw    string
	prefix int32 // index in prefixes, of the object that has the key; -1 for none
	id     int32 // of its label, -1 if nobody reads it
	inner  int32 // index in prefixes, if the key has an object; -1 if nobody reads what is in it
}

// find returns what a key is.
func (c *keyCache) find(r *Run, raw []byte, escaped bool, prefix int32) *metKey {
	if c.next < len(c.met) {
		if k := &c.met[c.next]; k.prefix == prefix && k.raw == string(raw) {
			c.next++
			return k
		}
	}
	return c.search(r, raw, escaped, prefix)
}

// search looks for the key among all that have been met, and puts it where it is looked for
// first.
func (c *keyCache) search(r *Run, raw []byte, escaped bool, prefix int32) *metKey {
	c.key = append(binary.LittleEndian.AppendUint32(c.key[:0], uint32(prefix)), raw...)
	k, ok := c.known[string(c.key)]
	if !ok {
		k = c.meet(r, raw, escaped, prefix)
		if c.known == nil || len(c.known) >= maxMet {
			c.known = map[string]metKey{}
		}
		c.known[string(c.key)] = k
	}
	switch {
	case c.next < len(c.met):
		c.met[c.next] = k
	case c.next < maxMet:
		c.met = append(c.met, k)
	default:
		c.next, c.met[0] = 0, k
	}
	c.next++
	return &c.met[c.next-1]
}

// meet finds out what a key is.
func (c *keyCache) meet(r *Run, raw []byte, escaped bool, prefix int32) metKey {
	k := metKey{raw: string(raw), prefix: prefix, id: -1, inner: -1}
	outer := ""
	if prefix >= 0 {
		outer = c.prefixes[prefix]
	}
	name := r.keyName(&jsonscan.Field{Key: raw, KeyEscaped: escaped}, outer)
	if name == "" {
		return k
	}
	if r.p.wants(name) {
		k.id = r.set.id(name)
	}
	if r.p.wantsInner(name) && len(name) < maxName {
		k.inner = c.prefix(name)
	}
	return k
}

func (c *keyCache) prefix(name string) int32 {
	for i, p := range c.prefixes {
		if p == name {
			return int32(i)
		}
	}
	if len(c.prefixes) >= maxMet {
		return -1
	}
	c.prefixes = append(c.prefixes, strings.Clone(name))
	return int32(len(c.prefixes) - 1)
}

// maxName bounds the bytes of the name of an object within which labels are made.
const maxName = 1 << 10

// wants reports whether anybody may read a label that a parser makes of a key.
func (p *Pipeline) wants(name string) bool {
	return p.all || p.needs[name] > 0 || p.needs[name+extractedSuffix] > 0
}

// wantsInner reports whether anybody may read a label of an object.
func (p *Pipeline) wantsInner(name string) bool {
	if p.all {
		return true
	}
	for n := range p.needs {
		if strings.HasPrefix(n, name) {
			return true
		}
	}
	return false
}

// keyName returns the name of a label made of a key of an object, in memory that is valid until
// the next line.
func (r *Run) keyName(f *jsonscan.Field, outer string) string {
	key := f.Key
	if f.KeyEscaped {
		key = r.unescape(key)
	}
	name := r.make(func(buf []byte) []byte {
		if outer == "" {
			return appendName(buf, key, true)
		}
		was := len(buf) + len(outer)
		buf = append(append(buf, outer...), '_')
		if buf = appendName(buf, key, false); len(buf) == was+1 {
			buf = buf[:was]
		}
		return buf
	})
	return unsafe.String(unsafe.SliceData(name), len(name))
}

func (r *Run) unescape(raw []byte) []byte {
	return r.make(func(buf []byte) []byte {
		buf, _ = jsonscan.AppendUnescaped(buf, raw)
		return buf
	})
}

// appendName appends key as the name of a label: what is neither a letter nor a digit of ASCII
// becomes _, and one stands before a leading digit of a whole name.
func appendName(buf, key []byte, whole bool) []byte {
	key = bytes.TrimSpace(key)
	if whole && len(key) > 0 && isDigit(key[0]) {
		buf = append(buf, '_')
	}
	for len(key) > 0 {
		c := key[0]
		if c == '_' || isDigit(c) || c|0x20 >= 'a' && c|0x20 <= 'z' {
			buf = append(buf, c)
			key = key[1:]
			continue
		}
		buf = append(buf, '_')
		_, size := utf8.DecodeRune(key)
		key = key[size:]
	}
	return buf
}
