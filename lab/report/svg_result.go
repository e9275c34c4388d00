package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stele-go/stele/lab/run"
)

// The columns of the picture of a result, in pixels: the names, the plot, the
// time above the ratio, the verdict.
const (
	sheetWidth  = 800
	sheetMargin = 24
	figureRight = sheetWidth - sheetMargin - 108 // the end of the time and the ratio
	plotEnd     = figureRight - 136
	rowHeight   = 54
)

// SVG writes a result of r as one picture: for each promise the blocks of every
// variant, their median with its interval, the ratio to the baseline and the
// verdict. The file needs nothing else, and suits light and dark pages.
func SVG(w io.Writer, r *run.Run, res *run.Result) error {
	s := &sheet{y: 16}
	s.paragraph("title", 24, 66, res.Question)
	s.paragraph("muted", 16, 104, "One operation: "+res.Op+". "+lessOrMore(res))
	strips := boxStrips(res)
	for i, t := range drawnTiers(res) {
		s.tier(t, strips[i], res)
	}
	s.y += 14
	s.rule("rule strong")
	s.y += 4
	for _, line := range footer(r, res) {
		s.paragraph("small", 15, 126, line)
	}
	s.y += 14
	return s.write(w, res.Question, Verdict(r, res))
}

// speedWords name the figure of a result.
func speedWords(res *run.Result) string {
	if parallel(res) {
		return "operations a second"
	}
	return "time per operation"
}

func lessOrMore(res *run.Result) string {
	if parallel(res) {
		return "More operations a second are better; a ratio is one of time."
	}
	return "Less time is better."
}

// A sheet is a picture that is written from top to bottom.
type sheet struct {
	b strings.Builder
	y float64 // where the next part begins
}

// write writes the sheet as a picture with a title and a description in words.
func (s *sheet) write(w io.Writer, title, desc string) error {
	css, err := styles("colors.css", "picture.css")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%s" viewBox="0 0 %d %s" role="img">
<title>%s</title>
<desc>%s</desc>
<style>
%s</style>
<rect class="paper" x="0.5" y="0.5" width="%d" height="%s" rx="8"/>
%s</svg>
`, sheetWidth, num(s.y), sheetWidth, num(s.y), esc(title), esc(desc), css, sheetWidth-1, num(s.y-1), s.b.String())
	return err
}

func (s *sheet) text(class string, x, y float64, text string) {
	fmt.Fprintf(&s.b, "<text class=%q x=%q y=%q>%s</text>\n", class, num(x), num(y), esc(text))
}

// paragraph writes lines of about columns letters, each height high.
func (s *sheet) paragraph(class string, height float64, columns int, text string) {
	for _, line := range wrap(clean(text), columns) {
		s.y += height
		s.text(class, sheetMargin, s.y, line)
	}
}

func (s *sheet) rule(class string) {
	fmt.Fprintf(&s.b, `<line class="%s" x1="%d" x2="%d" y1="%s" y2="%s"/>`+"\n", class, sheetMargin, sheetWidth-sheetMargin, num(s.y), num(s.y))
}

// plot puts a picture between the names and the figures.
func (s *sheet) plot(k key, from, y, height float64, p any) {
	fmt.Fprintf(&s.b, "<svg class=%q x=%q y=%q width=%q height=%q>%s</svg>\n", k.Class(), num(from), num(y), num(plotEnd-from), num(height), p)
}

// tier writes the variants of one promise above their axis.
func (s *sheet) tier(t *tier, strips stripTier, res *run.Result) {
	s.y += 32
	s.text("tier", sheetMargin, s.y, strips.Promise+": "+strips.Survives)
	s.text("small end", figureRight, s.y, speedWords(res)+", ratio")
	s.text("small end", sheetWidth-sheetMargin, s.y, "verdict")
	s.y += 10
	from := float64(nameEnd(t))
	for i, row := range t.Rows {
		s.rule("rule")
		s.variant(row, strips.Strips[i], from, res)
		s.y += rowHeight
	}
	s.rule("rule strong")
	s.plot(key{}, from, s.y, 20, strips.Axis)
	axis := speedWords(res)
	if strips.Log {
		axis += ", logarithmic"
	}
	s.text("small", sheetMargin, s.y+16, axis)
	s.y += 20
}

// nameEnd returns the end of the column of names, by the longest of a tier.
func nameEnd(t *tier) int {
	longest := 0
	for _, row := range t.Rows {
		longest = max(longest, utf8.RuneCountInString(row.V.Name))
	}
	return sheetMargin + min(max(longest*15/2, 120), 220) + 8
}

func (s *sheet) variant(row row, st strip, from float64, res *run.Result) {
	mid := s.y + rowHeight/2
	name := wrap(st.Name, int(from-sheetMargin)*2/15)
	for i, line := range name {
		s.text("name", sheetMargin, mid+4+16*(float64(i)-float64(len(name)-1)/2), line)
	}
	s.plot(st.Key, from, s.y+(rowHeight-boxHeight)/2, boxHeight, st.Picture)
	if c := row.Comparison; c != nil {
		s.text("end", figureRight, mid-3, st.Value)
		s.text("muted end", figureRight, mid+14, Ratio(c.Ratio))
	} else {
		s.text("end", figureRight, mid+4, st.Value)
	}
	word := clean(row.verdictWord(res))
	class := "badge " + verdictClass(word)
	width := 7*float64(utf8.RuneCountInString(word)) + 16
	x := sheetWidth - sheetMargin - width
	fmt.Fprintf(&s.b, "<rect class=%q x=%q y=%q width=%q height=\"20\" rx=\"10\"/>\n", class, num(x), num(mid-10), num(width))
	s.text(class+" middle", x+width/2, mid+4, word)
}

// footer returns how to read the picture, and where and how it was measured.
func footer(r *run.Run, res *run.Result) []string {
	lines := []string{fmt.Sprintf("A dot is a block of about %s in a process of its own; the box is their middle half, the line their median, the bar below it its interval. "+
		"Intervals are of 95 %% or more. A ratio is to the baseline, from blocks of the same round.", duration(float64(r.Settings.BlockTime)))}
	if i := slices.IndexFunc(r.Places, func(p run.Place) bool { return p.Name == res.Place }); i >= 0 {
		e := r.Places[i].Environment
		disk := orUnknown(e.Device, e.Unknown["device"])
		if e.Backing != "" {
			disk = "an image in a file" // whose path says nothing to others
		}
		lines = append(lines, fmt.Sprintf("%s on %s; %s, %d CPUs; %s %s; %s; %s.", e.FS, disk,
			orUnknown(e.CPU, e.Unknown["cpu"]), e.CPUs, e.OS, e.Kernel, e.Go, r.Started.UTC().Format("2 January 2006")))
	}
	return append(lines, fmt.Sprintf("%s: %s", res.ID, strings.Join(r.Command, " ")))
}
