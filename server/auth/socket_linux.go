package auth

import (
	"context"
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"slices"
	"unsafe"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc/credentials"
)

// SocketInfo passes gRPC the process at the other end of a unix socket.
type SocketInfo struct {
	credentials.CommonAuthInfo
	Identity Identity
}

// AuthType names the method for gRPC.
func (SocketInfo) AuthType() string { return "unix" }

var _ credentials.AuthInfo = SocketInfo{}

type socketKey struct{}

// ConnContext puts the peer of a unix socket into the context of its HTTP requests.
func (a *Authenticator) ConnContext(ctx context.Context, c net.Conn) context.Context {
	if id, ok := a.socketIdentity(c); ok {
		return context.WithValue(ctx, socketKey{}, id)
	}
	return ctx
}

// PeerInfo does for gRPC what ConnContext does for HTTP. It returns nil unless the
// connection is a unix socket.
func (a *Authenticator) PeerInfo(c net.Conn) credentials.AuthInfo {
	id, ok := a.socketIdentity(c)
	if !ok {
		return nil
	}
	common := credentials.CommonAuthInfo{SecurityLevel: credentials.PrivacyAndIntegrity}
	return SocketInfo{CommonAuthInfo: common, Identity: id}
}

func (a *Authenticator) socketIdentity(c net.Conn) (Identity, bool) {
	conn, ok := c.(*net.UnixConn)
	if !ok {
		return Identity{}, false
	}
	uid, groups, err := peerCredentials(conn)
	if err != nil {
		a.log.Warn("cannot identify a socket's peer", "err", err)
		return Identity{}, false
	}
	return Identity{
		Name:   fmt.Sprintf("uid:%d", uid),
		Role:   socketRole(uid, groups, a.cfg.SocketPath),
		Groups: []string{authenticatedGroup},
		Via:    viaSocket,
	}, true
}

// socketRole looks at the file on each connection, so that a chgrp counts at once.
func socketRole(uid uint32, groups []uint32, path string) Role {
	if uid == 0 || int(uid) == os.Geteuid() {
		return RoleAdmin
	}
	var file unix.Stat_t
	if unix.Stat(path, &file) == nil && slices.Contains(groups, file.Gid) {
		return RoleOperator
	}
	return RoleNone
}

// peerCredentials returns what the kernel recorded when the peer connected, which the
// peer cannot change afterwards.
func peerCredentials(conn *net.UnixConn) (uid uint32, groups []uint32, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, nil, fmt.Errorf("read peer credentials: %w", err)
	}
	var cred *unix.Ucred
	var credErr error
	err = raw.Control(func(fd uintptr) {
		if cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); credErr == nil {
			groups, credErr = peerGroups(fd)
		}
	})
	if err == nil {
		err = credErr
	}
	if err != nil {
		return 0, nil, fmt.Errorf("read peer credentials: %w", err)
	}
	return cred.Uid, append(groups, cred.Gid), nil
}

// peerGroups returns the supplementary groups; x/sys has no call that returns them.
func peerGroups(fd uintptr) ([]uint32, error) {
	buf := make([]byte, 4*64)
	for {
		size := uint32(len(buf))
		_, _, errno := unix.Syscall6(unix.SYS_GETSOCKOPT, fd, unix.SOL_SOCKET, unix.SO_PEERGROUPS,
			uintptr(unsafe.Pointer(&buf[0])), uintptr(unsafe.Pointer(&size)), 0)
		if errno == unix.ERANGE && int(size) > len(buf) {
			buf = make([]byte, size) // the kernel said how much it needs
			continue
		}
		if errno != 0 {
			return nil, os.NewSyscallError("getsockopt SO_PEERGROUPS", errno)
		}
		groups := make([]uint32, 0, size/4)
		for b := buf[:size]; len(b) >= 4; b = b[4:] {
			groups = append(groups, binary.NativeEndian.Uint32(b))
		}
		return groups, nil
	}
}
