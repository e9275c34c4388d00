module github.com/stele-go/stele/fileio/otelio

go 1.26.0

require (
	github.com/stele-go/stele v0.1.0
	go.opentelemetry.io/otel v1.16.0
	go.opentelemetry.io/otel/trace v1.16.0
)

require golang.org/x/sys v0.30.0 // indirect
