package listen

import (
	"context"
	"errors"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
)

// maxCalls bounds the calls of one known connection that run at a time. It leaves room beside
// the streams that an identity may hold: a call too many waits, and is not refused.
const maxCalls = 512

// GRPCOptions returns the options that a server behind a Front needs. peer describes a
// connection without TLS, and may return nil.
func GRPCOptions(peer func(net.Conn) credentials.AuthInfo) []grpc.ServerOption {
	return append(waitForMessages(),
		grpc.Creds(sorted{peer: peer}),
		grpc.ConnectionTimeout(helloTimeout),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(maxCalls),
		grpc.KeepaliveParams(keepalive.ServerParameters{MaxConnectionIdle: 15 * time.Minute}),
		// Clients on the node may hold an idle watch open with a ping a minute.
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 20 * time.Second, PermitWithoutStream: true}),
	)
}

// sorted holds credentials of connections whose handshake is done.
type sorted struct {
	peer func(net.Conn) credentials.AuthInfo
}

var _ credentials.TransportCredentials = sorted{}

// ServerHandshake passes the result of the handshake to grpc-go.
func (s sorted) ServerHandshake(c net.Conn) (net.Conn, credentials.AuthInfo, error) {
	if secure := secureOf(c); secure != nil {
		return c, credentials.TLSInfo{
			State:          secure.ConnectionState(),
			CommonAuthInfo: credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity},
		}, nil
	}
	if s.peer == nil {
		return c, nil, nil
	}
	return c, s.peer(bottom(c)), nil
}

// ClientHandshake is never right: these are a server's.
func (sorted) ClientHandshake(context.Context, string, net.Conn) (net.Conn, credentials.AuthInfo, error) {
	return nil, nil, errors.New("credentials of a server cannot dial")
}

// Info describes the protocol to grpc-go.
func (sorted) Info() credentials.ProtocolInfo {
	return credentials.ProtocolInfo{SecurityProtocol: "sorted"}
}

// Clone returns the credentials, which hold no state.
func (s sorted) Clone() credentials.TransportCredentials { return s }

// OverrideServerName does nothing on a server.
func (sorted) OverrideServerName(string) error { return nil }
