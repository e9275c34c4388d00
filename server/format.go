package server

import (
	"net/http"

	"github.com/stele-go/stele/logql/syntax"
)

var formatRoutes = []route{{"GET POST", "/loki/api/v1/format_query", tenant, (*Server).serveFormat}}

// serveFormat answers with a query laid out over lines. Its errors are JSON, as Loki's are
// here and nowhere else.
func (s *Server) serveFormat(w http.ResponseWriter, c *call) error {
	v, err := paramsOf(w, c)
	if err != nil {
		return err
	}
	expr, err := parse(v.Get("query"))
	if err != nil {
		answerJSON(w, c, http.StatusBadRequest, func(b *body) {
			b.BeginObject()
			b.Name("status")
			b.String("invalid-query")
			b.Name("error")
			b.String(err.Error())
			b.EndObject()
		})
		return nil
	}
	answerJSON(w, c, http.StatusOK, func(b *body) {
		success(b.Writer, func() {
			b.Name("data")
			b.String(syntax.Format(expr))
		})
	})
	return nil
}
