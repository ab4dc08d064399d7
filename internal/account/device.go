package account

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	"larder/internal/fault"
	"larder/internal/vpath"
)

// A known device is a browser in which an account has signed in. It holds a proof. With the proof,
// wrong passwords that others have tried for the account do not block its next sign-in. The proof
// does not replace the password. Its MAC covers the account and the stored password hash, so that a
// new password ends it without a row in the database. The proof itself contains neither.

// DeviceLifetime is how long a device is known after its last sign-in to the account.
const DeviceLifetime = 180 * 24 * time.Hour

const (
	maxDevices  = 8 // proofs in one cookie, one for each account; the oldest are dropped
	deviceNonce = 16
	deviceBody  = 8 + deviceNonce // expiry (ms), then the nonce
	// unknownNames is the number of targets that all names without an account share.
	unknownNames = 1 << 16
)

var deviceEncoding = base64.RawURLEncoding.Strict()

// deviceProof is the proof of one account.
type deviceProof struct {
	body [deviceBody]byte
	mac  [sha256.Size]byte
}

// LoginTarget returns the target that wrong passwords of a sign-in are counted under, a name for
// limits over all addresses. name is the user name or address that was typed; proofs is the cookie
// of known devices, "" for none.
//
// A device that is known for the account is a target of its own. Otherwise an account has one
// target for its user name and one for its address: a single target would reveal that the two
// belong together. A name without an account has a target as well, at the same cost, so that the
// limit does not reveal which accounts exist. Such names share a fixed number of targets, chosen by
// a keyed hash. A wrong password costs a hash, so few of these targets are in use at a time, and a
// caller cannot search for two names that share one.
func (s *Service) LoginTarget(ctx context.Context, name, proofs string) (string, error) {
	u, stored, err := findUser(s.db.Read(ctx), name)
	known := err == nil
	switch {
	case fault.Is(err, fault.NotFound):
		stored = s.dummyHash()
	case err != nil:
		return "", err
	}
	proved := ""
	for _, d := range parseProofs(proofs) {
		if s.validProof(d, u.ID, stored) {
			proved = "device:" + hex.EncodeToString(d.body[8:])
		}
	}
	unknown := s.unknownTarget(name)
	switch {
	case !known:
		return unknown, nil
	case proved != "":
		return proved, nil
	case usernamePattern.MatchString(name):
		return "username:" + u.ID, nil
	}
	return "email:" + u.ID, nil
}

// unknownTarget returns the target that wrong passwords for a name without an account are counted
// under: one of unknownNames targets, by a keyed hash of the name. The case of the name makes no
// difference.
func (s *Service) unknownTarget(name string) string {
	h := hmac.New(sha256.New, s.unknownKey)
	h.Write([]byte(vpath.Fold(name)))
	return fmt.Sprintf("nobody:%04x", binary.BigEndian.Uint32(h.Sum(nil))%unknownNames)
}

// DeviceCookie returns the value of the cookie for a browser in which u has just signed in: a new
// proof for u, and the proofs of other accounts in proofs. u is the value that Login returned.
// DeviceCookie returns "" when the password was replaced or the sessions were ended since Login.
func (s *Service) DeviceCookie(ctx context.Context, u User, proofs string) (string, error) {
	now, stored, err := readUser(s.db.Read(ctx), byID, u.ID)
	switch {
	case fault.Is(err, fault.NotFound) || err == nil && now.SessionVersion != u.SessionVersion:
		return "", nil // stored may be the hash of a password that this browser never gave
	case err != nil:
		return "", err
	}
	var fresh deviceProof
	binary.BigEndian.PutUint64(fresh.body[:8], uint64(s.now().Add(DeviceLifetime).UnixMilli()))
	if _, err := io.ReadFull(s.random, fresh.body[8:]); err != nil {
		return "", fmt.Errorf("read randomness: %w", err)
	}
	copy(fresh.mac[:], s.deviceMAC(fresh, u.ID, stored))
	all := []string{fresh.String()}
	for _, d := range parseProofs(proofs) {
		if !s.validProof(d, u.ID, stored) && len(all) < maxDevices {
			all = append(all, d.String())
		}
	}
	return strings.Join(all, "."), nil
}

// validProof reports whether a proof of a known device was made for the account with the password
// hash in stored, and has not expired. A proof that would last longer than DeviceLifetime was made
// by a clock that has been put back since, and is not valid.
func (s *Service) validProof(d deviceProof, userID, stored string) bool {
	ends := int64(binary.BigEndian.Uint64(d.body[:8]))
	now := s.now()
	right := hmac.Equal(d.mac[:], s.deviceMAC(d, userID, stored))
	return right && ends > now.UnixMilli() && ends <= now.Add(DeviceLifetime+clockSlack).UnixMilli()
}

// deviceMAC returns the MAC of a proof for an account whose password hash is stored.
func (s *Service) deviceMAC(d deviceProof, userID, stored string) []byte {
	h := hmac.New(sha256.New, s.deviceKey)
	h.Write(d.body[:])
	h.Write([]byte(userID + "\x00" + stored))
	return h.Sum(nil)
}

// String returns the proof in the form in which the cookie holds it, 75 characters of base64.
func (d deviceProof) String() string {
	return deviceEncoding.EncodeToString(append(d.body[:], d.mac[:]...))
}

// parseProofs reads the value of a cookie that DeviceCookie made, without checking the proofs in
// it. It returns no proofs for any other text.
func parseProofs(proofs string) []deviceProof {
	const size = deviceBody + sha256.Size
	if proofs == "" || len(proofs) >= maxDevices*(deviceEncoding.EncodedLen(size)+1) {
		return nil
	}
	var all []deviceProof
	for text := range strings.SplitSeq(proofs, ".") {
		raw, err := deviceEncoding.DecodeString(text)
		if err != nil || len(raw) != size {
			return nil
		}
		all = append(all, deviceProof{[deviceBody]byte(raw), [sha256.Size]byte(raw[deviceBody:])})
	}
	return all
}
