// Package notice edits the notice at the head of a source file: the comment
// with a licence, a copyright line or a banner. It inserts, replaces, removes
// and checks notices in the comment styles of several hundred file types. It
// works on bytes, and neither reads nor writes files; the command "stele header"
// does that for whole trees.
//
//	e, err := notice.New(notice.Options{Action: notice.Insert, Text: "Copyright {{.Year}} ACME", Year: "2026"})
//	c, err := e.Edit("main.go", src)
//	src = c.Apply(src)
//
// [New] compiles Options into an [Editor], which edits any number of files.
// [Editor.Edit] takes a whole file, [Editor.EditHead] its first bytes. Both
// return a [Change]: the file's state, the bytes it begins with, and the bytes
// that replace them.
//
// # Languages
//
// The language of a file follows from its name, or from its "#!" line if it has
// no extension. [Styles] lists the comment styles and the names that have them,
// and [StyleOf] returns the style of one file. Where several languages share an
// extension (.v, .pl, .pp, .d) the content decides; if it does not, the file is
// skipped. Options.Styles overrides the table.
//
// # Where a notice goes
//
// A notice is the first thing in a file except for the preamble, which has to
// come first: a byte order mark, "#!", <?xml, a doctype, <?php, @charset, an
// encoding, a line for Emacs or Vim, a parser directive, front matter. The
// notice ends its lines as the file does, and one empty line follows it.
//
// Remove is the inverse of Insert: it restores every byte.
//
// # Which comment is the notice
//
// Only comments before the first line of code count. The editor's notice is, in
// this order:
//
//  1. the comment with the words of Options.Text; years, line breaks and the
//     comment style may differ;
//  2. the comment with the words of Options.Old, likewise;
//  3. a comment with one of Options.Markers, if it is a legal notice or an empty
//     line separates it from the code.
//
// A legal notice has an SPDX tag, a line that begins with "Copyright", a
// copyright mark with a year, or the name of a known licence. A file with a
// legal notice that is not the editor's has state [Other] and is left unchanged,
// unless Markers are set or Text is itself no legal notice.
//
// # Mistakes to avoid
//
//   - Inserting with a new Text over an older one: the old notice is another
//     notice, so the file is left as it is. Use Replace with Old or Markers.
//   - A marker that is also an ordinary word: Replace and Remove take the whole
//     comment that contains it.
//   - Treating every Change as a change: Old and New are nil unless the file has
//     to be written. Apply does the right thing.
//   - Passing the first bytes of a file to Edit: a comment that ends beyond them
//     looks unterminated. Use EditHead, which returns ErrShort.
//   - Writing the result in place: a crash leaves half a file. Package header
//     replaces the head of a file atomically (Swap and SwapAll), and atomicfile
//     the whole file.
package notice
