package follow

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
)

// headMost is how many first bytes of a file tell it from others; headLeast is how many
// tell a copy of it from other files.
const (
	headMost  = 1024
	headLeast = 32
)

// An identity is how a file is recognised.
type identity struct {
	Device uint64 `json:"device,string"`
	Inode  uint64 `json:"inode,string"` // 0: the system has none
	// Head is a hash of the first HeadBytes bytes, of the text if it is compressed.
	Head      string `json:"head"`
	HeadBytes int    `json:"head_bytes"`
}

// identify returns the identity of an open file, and the bytes that its Head is of.
func identify(f *os.File, fi os.FileInfo) (identity, []byte, error) {
	id := inodeOf(fi)
	head := make([]byte, headMost)
	n, err := headOf(f, head)
	id.Head, id.HeadBytes = hash(head[:n]), n
	return id, head[:n], err
}

// headOf reads the first bytes of the text of a file.
func headOf(f *os.File, head []byte) (int, error) {
	r, err := textOf(f)
	if err != nil {
		return 0, err
	}
	n, err := io.ReadFull(r, head)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = nil
	}
	return n, err
}

func hash(data []byte) string {
	h := sha256.Sum256(data)
	return hex.EncodeToString(h[:16])
}

// sameHead reports whether the file begins as that of id.
func (id *identity) sameHead(f *os.File) bool {
	head := make([]byte, id.HeadBytes)
	n, err := headOf(f, head)
	return err == nil && n == id.HeadBytes && hash(head) == id.Head
}

// sameInode reports whether the file is that of id, perhaps with another content.
func (id *identity) sameInode(fi os.FileInfo) bool {
	o := inodeOf(fi)
	return o.Inode == id.Inode && o.Device == id.Device
}
