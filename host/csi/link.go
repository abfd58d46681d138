package csi

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	csiapi "github.com/container-storage-interface/spec/lib/go/csi"
	"google.golang.org/grpc"
	grpcstatus "google.golang.org/grpc/status"

	"nodal/host/outsider"
)

// Bounds of what a driver may send.
const (
	mostMessage = 1 << 20
	mostWords   = 1000 // of an error
)

// link is a connection to a driver, for one call or a few.
type link struct {
	*grpc.ClientConn
	node     csiapi.NodeClient
	identity csiapi.IdentityClient
}

// dial prepares a connection to the socket of a driver. It connects with the first call.
func dial(endpoint string) (link, error) {
	if !filepath.IsAbs(endpoint) || strings.ContainsRune(endpoint, 0) {
		return link{}, fmt.Errorf("its endpoint %.300q is not the path of a socket", endpoint)
	}
	conn, err := outsider.Dial(mostMessage, func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", endpoint)
	})
	if err != nil {
		return link{}, err
	}
	return link{conn, csiapi.NewNodeClient(conn), csiapi.NewIdentityClient(conn)}, nil
}

// said returns the error of a call in the words of every kubelet, with the beginning of the driver's message.
func said(err error) error {
	status := grpcstatus.Convert(err)
	message := strings.ToValidUTF8(status.Message(), "?")
	if len(message) > mostWords {
		message = strings.ToValidUTF8(message[:mostWords], "") + "..."
	}
	message = strings.Map(func(r rune) rune {
		if r < ' ' {
			return ' '
		}
		return r
	}, message)
	return errors.New("rpc error: code = " + status.Code().String() + " desc = " + message)
}
