// Command registry is the reference implementation of a registry, for tests: on
// loopback, with TLS and a password file, keeping images in memory. It is a module
// of its own, so that what it is made of stays out of the agent's.
//
// It prints its address once it serves.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"

	"github.com/distribution/distribution/v3/configuration"
	"github.com/distribution/distribution/v3/registry/handlers"

	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/inmemory"
)

func main() {
	address := flag.String("address", "127.0.0.1:0", "where to listen")
	cert := flag.String("cert", "", "file of its certificate")
	key := flag.String("key", "", "file of the certificate's key")
	passwords := flag.String("htpasswd", "", "file of who may use it; empty: anybody may")
	flag.Parse()
	if err := serve(*address, *cert, *key, *passwords); err != nil {
		log.Fatal(err)
	}
}

func serve(address, cert, key, passwords string) error {
	config := &configuration.Configuration{Storage: configuration.Storage{"inmemory": configuration.Parameters{}}}
	config.Log.Level = "error"
	config.HTTP.Secret = "of no value: there is one process"
	if passwords != "" {
		config.Auth = configuration.Auth{"htpasswd": configuration.Parameters{"realm": "test", "path": passwords}}
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	server := &http.Server{Handler: handlers.NewApp(context.Background(), config)}
	if cert == "" {
		return server.Serve(listener)
	}
	return server.ServeTLS(listener, cert, key)
}
