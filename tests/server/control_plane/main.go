// An xDS server of Envoy's control plane library, as Envoy Gateway runs one
// towards its rate limit service: mutual TLS, and one snapshot for all nodes.
//
//	control_plane CERT KEY CLIENT_CA
//
// Writes its address to standard output.  Reads the names of files with rate
// limit configurations from standard input, one line for each snapshot: the
// words of a line are its files, each of which has documents of YAML.  For each
// answer of the client it writes a line: "ack VERSION", "nack VERSION MESSAGE".
//
//	control_plane FILE
//
// Writes the documents of the file as JSON, one line for each.
package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"

	core "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discovery "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"github.com/envoyproxy/go-control-plane/pkg/cache/types"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
	"github.com/envoyproxy/go-control-plane/pkg/resource/v3"
	"github.com/envoyproxy/go-control-plane/pkg/server/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/ratelimit/config/ratelimit/v3"
	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/encoding/protojson"
)

// All nodes have the same configuration.
const everyNode = "all"

type sameForAll struct{}

func (sameForAll) ID(*core.Node) string { return everyNode }

// Writes what the client answers.  A request that answers a response has the
// nonce of that response.
type reporter struct {
	server.CallbackFuncs
	mutex sync.Mutex
	sent  map[string]string // versions, by the nonces of the responses
}

func (r *reporter) OnStreamResponse(_ context.Context, _ int64,
	_ *discovery.DiscoveryRequest, response *discovery.DiscoveryResponse) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.sent[response.GetNonce()] = response.GetVersionInfo()
}

func (r *reporter) OnStreamRequest(_ int64, request *discovery.DiscoveryRequest) error {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	version, answers := r.sent[request.GetResponseNonce()]
	switch {
	case !answers:
	case request.GetErrorDetail() != nil:
		fmt.Println("nack", version, request.GetErrorDetail().GetMessage())
	default:
		fmt.Println("ack", request.GetVersionInfo())
	}
	return nil
}

// The documents of a file, as JSON.
func documents(name string) ([][]byte, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var all [][]byte
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var document map[string]any
		if err := decoder.Decode(&document); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		words, err := json.Marshal(document)
		if err != nil {
			return nil, err
		}
		all = append(all, words)
	}
}

// The configurations of a file.  Keys that Envoy's message lacks are passed
// over: the text has more than Envoy Gateway sends.
func read(name string) ([]types.Resource, error) {
	all, err := documents(name)
	if err != nil {
		return nil, err
	}
	var configs []types.Resource
	for _, words := range all {
		config := &ratelimit.RateLimitConfig{}
		reader := protojson.UnmarshalOptions{DiscardUnknown: true}
		if err := reader.Unmarshal(words, config); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		configs = append(configs, config)
	}
	return configs, nil
}

func mutualTLS(cert, key, clientCA string) (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	authority, err := os.ReadFile(clientCA)
	if err != nil {
		return nil, err
	}
	clients := x509.NewCertPool()
	clients.AppendCertsFromPEM(authority)
	return &tls.Config{
		Certificates: []tls.Certificate{pair},
		ClientAuth:   tls.RequireAndVerifyClientCert,
		ClientCAs:    clients,
		MinVersion:   tls.VersionTLS13,
	}, nil
}

func run(cert, key, clientCA string) error {
	config, err := mutualTLS(cert, key, clientCA)
	if err != nil {
		return err
	}
	snapshots := cache.NewSnapshotCache(true, sameForAll{}, nil)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	grpcServer := grpc.NewServer(grpc.Creds(credentials.NewTLS(config)))
	discovery.RegisterAggregatedDiscoveryServiceServer(grpcServer,
		server.NewServer(context.Background(), snapshots,
			&reporter{sent: map[string]string{}}))
	go func() { log.Fatal(grpcServer.Serve(listener)) }()
	fmt.Println(listener.Addr())

	lines := bufio.NewScanner(os.Stdin)
	for version := 1; lines.Scan(); version++ {
		var configs []types.Resource
		for _, name := range strings.Fields(lines.Text()) {
			more, err := read(name)
			if err != nil {
				return err
			}
			configs = append(configs, more...)
		}
		snapshot, err := cache.NewSnapshot(strconv.Itoa(version),
			map[resource.Type][]types.Resource{resource.RateLimitConfigType: configs})
		if err != nil {
			return err
		}
		if err := snapshots.SetSnapshot(context.Background(), everyNode, snapshot); err != nil {
			return err
		}
	}
	return lines.Err()
}

func show(name string) error {
	all, err := documents(name)
	for _, document := range all {
		fmt.Println(string(document))
	}
	return err
}

func main() {
	var err error
	switch len(os.Args) {
	case 2:
		err = show(os.Args[1])
	case 4:
		err = run(os.Args[1], os.Args[2], os.Args[3])
	default:
		err = errors.New("usage: control_plane CERT KEY CLIENT_CA, or FILE")
	}
	if err != nil {
		log.Fatal(err)
	}
}
