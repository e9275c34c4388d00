module github.com/stele-go/stele/server

go 1.26.0

require (
	github.com/coder/websocket v1.8.15
	github.com/klauspost/compress v1.18.7
	github.com/prometheus/client_golang v1.23.2
	github.com/prometheus/client_model v0.6.2
	github.com/stele-go/stele v0.1.0
	github.com/stele-go/stele/logql v0.1.0
	github.com/stele-go/stele/logstore v0.1.0
)
