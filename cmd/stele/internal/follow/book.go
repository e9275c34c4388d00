package follow

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/stele-go/stele/atomicfile"
	"github.com/stele-go/stele/durability"
	"github.com/stele-go/stele/internal/sys"
	"github.com/stele-go/stele/mkdir"
)

// bookSchema names the layout of a book.
const bookSchema = "stele.bookmarks/1"

// mostGenerations is how many generations a book remembers.
const mostGenerations = 64

// A Book has the bookmarks of one source. One process has it open at a time.
type Book struct {
	name string
	stem string // of the names of all books of the source
	lock *os.File
	doc  bookDoc
}

type bookDoc struct {
	Schema      string       `json:"schema"`
	Server      string       `json:"server"`
	Source      string       `json:"source"`
	Path        string       `json:"path"`
	Generations []generation `json:"generations"` // by number
	// Sent is the position up to which all was sent, for servers that keep none.
	Sent Position `json:"sent"`
}

// A generation is a file that the source had.
type generation struct {
	Number   uint32   `json:"number"`
	Identity identity `json:"identity"`
	Start    int64    `json:"start,omitempty"` // where its first line begins, see Options.FromEnd
	Marks    []mark   `json:"marks,omitempty"` // by end
}

// OpenBook opens the book of a source for a server in the directory dir, which is made if
// it does not exist. It fails if another process has it open. The server is its address, or
// another text; so is the source.
func OpenBook(dir, server, source, path string) (*Book, error) {
	if err := mkdir.All(dir, 0o700); err != nil {
		return nil, err
	}
	stem := filepath.Join(dir, nameHash(source))
	b := &Book{name: stem + "-" + nameHash(server) + ".json", stem: stem}
	lock, err := os.OpenFile(b.name+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if ok, err := sys.TryLock(lock); err == nil && !ok {
		pid, command := sys.FlockHolder(lock)
		lock.Close()
		return nil, fmt.Errorf("%s: process %d (%s) pushes it already", path, pid, command)
	} else if err != nil && !errors.Is(err, errors.ErrUnsupported) {
		lock.Close()
		return nil, err
	}
	b.lock = lock
	if err := b.read(b.name); err != nil && !errors.Is(err, os.ErrNotExist) {
		b.Close()
		return nil, err
	}
	b.doc.Schema, b.doc.Server, b.doc.Source, b.doc.Path = bookSchema, server, source, path
	return b, nil
}

// HasBook reports whether there is a book of a source for a server.
func HasBook(dir, server, source string) bool {
	_, err := os.Stat(filepath.Join(dir, nameHash(source)+"-"+nameHash(server)+".json"))
	return err == nil
}

func nameHash(text string) string {
	hash := sha256.Sum256([]byte(text))
	return hex.EncodeToString(hash[:12])
}

// inherit takes the generations of the only other book of the source, which has that
// number: which file is which generation does not depend on the server, and that may have
// got another address.
func (b *Book) inherit(number uint32) bool {
	names, err := filepath.Glob(b.stem + "-*.json")
	if err != nil {
		return false // the directory is no pattern
	}
	names = slices.DeleteFunc(names, func(name string) bool { return name == b.name })
	other := Book{}
	if len(names) != 1 || other.read(names[0]) != nil || other.generation(number) == nil {
		return false
	}
	b.doc.Generations = other.doc.Generations
	return b.save(durability.Power) == nil
}

func (b *Book) read(name string) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &b.doc); err != nil || b.doc.Schema != bookSchema {
		return fmt.Errorf("%s: no bookmarks that this version reads: schema %q, %v; want %q", name, b.doc.Schema, err, bookSchema)
	}
	return nil
}

// Close releases the book.
func (b *Book) Close() error { return b.lock.Close() }

// Sent returns the position of SetSent.
func (b *Book) Sent() Position { return b.doc.Sent }

// SetSent keeps the position up to which all was sent. It survives the end of the process.
func (b *Book) SetSent(p Position) error {
	b.doc.Sent = p
	return b.save(durability.Kill)
}

// last returns the newest generation; its number is 0 if there is none.
func (b *Book) last() generation {
	if n := len(b.doc.Generations); n > 0 {
		return b.doc.Generations[n-1]
	}
	return generation{}
}

// generation returns the generation of that number, or nil.
func (b *Book) generation(number uint32) *generation {
	for i := range b.doc.Generations {
		if b.doc.Generations[i].Number == number {
			return &b.doc.Generations[i]
		}
	}
	return nil
}

// add adds a generation, durably: a line of it may be safe on the server right after.
func (b *Book) add(g generation) error {
	b.doc.Generations = append(b.doc.Generations, g)
	if n := len(b.doc.Generations); n > mostGenerations {
		b.doc.Generations = b.doc.Generations[n-mostGenerations:]
	}
	return b.save(durability.Power)
}

// Knows reports whether a file is a generation, or a copy of one.
func (b *Book) Knows(f *os.File) bool {
	fi, err := f.Stat()
	if err != nil {
		return false
	}
	for i := range b.doc.Generations {
		g := &b.doc.Generations[i]
		id := &g.Identity
		if (id.HeadBytes >= headLeast || id.sameInode(fi) || fi.Size() == int64(id.HeadBytes)) && g.isTextOf(f, min(fi.Size(), lastEnd(g))) {
			return true
		}
	}
	return false
}

func lastEnd(g *generation) int64 {
	if n := len(g.Marks); n > 0 {
		return g.Marks[n-1].End
	}
	return 0
}

// IsNew reports whether no file was read yet.
func (b *Book) IsNew() bool { return len(b.doc.Generations) == 0 }

// update keeps a better identity of a generation. The old one is as right.
func (b *Book) update(number uint32, id identity) error {
	b.generation(number).Identity = id
	return b.save(durability.Kill)
}

// mark adds a mark to a generation.
func (b *Book) mark(number uint32, m mark) error {
	g := b.generation(number)
	if m.End <= lastEnd(g) {
		return nil
	}
	if g.Marks = append(g.Marks, m); len(g.Marks) > mostMarks {
		g.Marks = slices.Delete(g.Marks, 0, len(g.Marks)-mostMarks)
	}
	return b.save(durability.Kill)
}

func (b *Book) save(level durability.Level) error {
	data, err := json.MarshalIndent(&b.doc, "", "  ")
	if err != nil {
		return err
	}
	return atomicfile.WriteFileWith(b.name, append(data, '\n'), 0o600, atomicfile.Options{Level: level})
}
