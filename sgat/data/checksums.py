"""SHA-256 of the benchmark files: what is opened must be what was published."""

from __future__ import annotations

import hashlib
from pathlib import Path

PLANETOID_PARTS = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
"""The files `ind.<name>.<part>` of a citation graph; all but the last are pickles."""

GEOM_GCN_PARTS = ("node_feature_label", "graph_edges")
"""The files `out1_<part>.txt` of a WebKB graph or Actor."""

TWITCH_COUNTRIES = ("DE", "ENGB", "ES", "FR", "PTBR", "RU", "ZHTW")
"""The graphs of the Twitch data, one file each."""

TEN = tuple(str(number) for number in range(10))
"""Numbers of the fixed Geom-GCN splits."""

_GROUPS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        "Planetoid/Cora/raw/ind.cora.{}",
        PLANETOID_PARTS,
        (
            "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
            "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
            "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
            "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
            "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
            "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
            "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
            "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
        ),
    ),
    (
        "Planetoid/CiteSeer/raw/ind.citeseer.{}",
        PLANETOID_PARTS,
        (
            "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
            "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
            "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
            "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
            "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
            "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
            "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
            "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
        ),
    ),
    (
        "Planetoid/PubMed/raw/ind.pubmed.{}",
        PLANETOID_PARTS,
        (
            "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
            "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
            "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
            "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
            "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
            "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
            "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
            "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
        ),
    ),
    (
        "Amazon/{}.npz",
        (
            "Computers/raw/amazon_electronics_computers",
            "Photo/raw/amazon_electronics_photo",
        ),
        (
            "736ba1d9fd85eac2da83a5ad25c463f04b0031a6ca01563f90a7099d9e8ffb2c",
            "bdb1feb8e6ff42ee44024b04479145029c563fd42fc31bff80af20887ba0439a",
        ),
    ),
    (
        "Actor/raw/out1_{}.txt",
        GEOM_GCN_PARTS,
        (
            "1d5cdd094f8b91e770f6decfca85b35cf42f75d1efb51055fd6af16e11820ff8",
            "997cdce67ea9c29257d3ffe796328391931901cf823830affa453178b60e2c3e",
        ),
    ),
    (
        "Actor/raw/film_split_0.6_0.2_{}.npz",
        TEN,
        (
            "4505a41d4e90abd94d1ec22571ce528b09ad7cf20d87f764aebd4177590767f5",
            "1871b0d24e3977c41e378fd24acc8025b63f86b77739be77a5b558d1287f207d",
            "d26680e911ef3ecc9fc2a26d90c9d35028c63aadd7a5aea774649d1496c282cb",
            "6755ad5f6a0be8594b344af3d2261eed935b83b73c4d70136e1a7beea7f78cb0",
            "328fdca62b25074f21f2922518e042f24b3b8a1fc378f9dfb2cae36439aed902",
            "5b3161a8dc8de4b2e651ebd56d68e768d1377044895b325566117fe26ab81cb7",
            "e251b38abd4d7931b5e9ae5aba99dcdf87f0be283bdf6e65421274a1c9ef1df6",
            "12164ef9f5620a2f12a387f4f2b8636859d42201101d6d32829ade62d5a98326",
            "405cd1f7f631f678119f8bf2405809e86614d532985beb59566fcf95abd35b3f",
            "505691c5d41bb37b20d085415dcdde2e8e68b5bc4e1feb2c0e361308002012bb",
        ),
    ),
    (
        "WebKB/cornell/raw/out1_{}.txt",
        GEOM_GCN_PARTS,
        (
            "38561ad44e29199a826ccef7f94f469b94a912076f83fbc453a69b8ac2b4b858",
            "12dc60defc4f8a1f18499e3695bfd62ef0421f9b722297276e7f02dec7ae3dca",
        ),
    ),
    (
        "WebKB/cornell/raw/cornell_split_0.6_0.2_{}.npz",
        TEN,
        (
            "14022a1e19ec7fc0a07a2c06a785a2f9dc52809dbcd1c14fc318f7800675d73f",
            "5568fa27e968a724c92211bf97026a36a08893cf94b218043e49b4c973c35cfb",
            "763fc1f423395e4172617fa5b6bc0d7adad2241e5fedd1a4f0a098a67f9dc8e9",
            "4334321cd9ec42de9d51107fb9a6dc310512e0921bc1cff0f390301ee37315fa",
            "2b6b3ef396f4dc7fcdc276fb16b88bb87409b25879dd672b3a506eca844dd8d7",
            "1a40ef8b20aa9e1aa850e1abdaba3efac1f66c98ef2c6a59eadefa21136ece6b",
            "bcddf4ab59eae4c7d47b8a6cec9025a54ec0e6d3f3bdcd7678e201f25ace4642",
            "2b497e12dfc123d7e7c9bb4fc4a82b5bee18409e109a3e3a04da439cacec964d",
            "5c4e110d252d7ad156b2e4cd34b6dbd1cecbcc1755f8d72e932cc2a54f2b643c",
            "80f1531807194d301affbf6f879a4ab4f56a19bdccb62d192e3ecd1b5275f052",
        ),
    ),
    (
        "WebKB/texas/raw/out1_{}.txt",
        GEOM_GCN_PARTS,
        (
            "cf5a3ca346cdd1210b8342e22517fcbbdae658065b7a3145f59350e50e6236a3",
            "0fe85183243a78cbee9b85a684f8240963d04d1020d10e9cd2b8cfb25e33b476",
        ),
    ),
    (
        "WebKB/texas/raw/texas_split_0.6_0.2_{}.npz",
        TEN,
        (
            "7ba77bf7a8856fcc0ab15623a611b8cdce994e820f577da914123fb4f45272b0",
            "21cc244a96e3c51ad7993afb4dd227f90e467d82b964bb42d7d9fc500a6ef87f",
            "b9e96a699ccf3a4c31ffbd03e52b25570889833425d20fa44e06c37b327cf61e",
            "1a7deeb1285009789d5e6045d7e39f7d019c9223d9a75a2b7ce5e26d33b51f63",
            "b5419ff3fe31adcae66fdb085d4f47d0b188e9436ab59f438632af969aafc674",
            "68405fd1b9ff6105d99717220ecbd198785e338bf4a73abee722bbc9703d2667",
            "8ad78b973164e70e5ac0d282e79adcbc6006e373909fbdfd72a13131e09040b8",
            "a84bcbf997365bddf5fdf72ed49dc7e435e475f8c6210f8cdee7c8581a2bd6df",
            "65ba65f296f91d40d2d7d3c9369b67415094a7e254c6eee48cd6d6531c586fdf",
            "4306981d654ad8835c000c1f73fb6c1e60dfe99e26c13a6073f3b0f4cc3ce6ee",
        ),
    ),
    (
        "WebKB/wisconsin/raw/out1_{}.txt",
        GEOM_GCN_PARTS,
        (
            "a32b0aa38d42f0d36841e8a8cb646d197f0ff33a182ac75a2b4476aeed3c7e4b",
            "ebd213511c88fce1eda450c2f920600c4b8cbb38f02384856bcc47c6ec1807ae",
        ),
    ),
    (
        "WebKB/wisconsin/raw/wisconsin_split_0.6_0.2_{}.npz",
        TEN,
        (
            "f66f641e191d35d491cd3b63d6c2cd93c4b436da398984b44c19a8d4d7e7b1a5",
            "534aeb97266bd5a85a8587adf8eebad3f2e001c1240610f24b62c0ad0c2466ee",
            "047a5b641778ec3a4c76055fd7f18ecb2424c0952f20dfff7e1b17749d8acbdd",
            "706c27b4c51d046c0316f1e915f093e4a1fff48b3436b3e7c421eab596a99e77",
            "7ee813605eec086457aaff022cf3837f2f893fcf8bd37e3a8d2ff0c80e4c4f87",
            "8094ac2bdaf2cbea8f7a48df66a0800c809b2fd5942740e6b0441b660d3a0dd5",
            "c423a8deea9b18f9ecb6cfd703578e2159df167de01fe7e6195b88995010252d",
            "57ad808c8d4dd94dc4404124370bbcebb3dcc597c2bea6457bf05f220adf1527",
            "27d4d62a2a6aea2cdc399302237512ab0d64fb0c84e648112f97c5896274e42f",
            "3c149cd124a19021031609e0d7743a7be59aae4f88c8d38410138e8f06f5daaf",
        ),
    ),
    (
        "WebKB-2020/cornell/raw/out1_{}.txt",
        GEOM_GCN_PARTS,
        (
            "cf5a3ca346cdd1210b8342e22517fcbbdae658065b7a3145f59350e50e6236a3",
            "c4522a00cc40873c8a04a3a07c49e24a48a507eb284ac9c9f2d3e0590351bbb7",
        ),
    ),
    (
        "WebKB-2020/cornell/raw/cornell_split_0.6_0.2_{}.npz",
        TEN,
        (
            "14022a1e19ec7fc0a07a2c06a785a2f9dc52809dbcd1c14fc318f7800675d73f",
            "5568fa27e968a724c92211bf97026a36a08893cf94b218043e49b4c973c35cfb",
            "763fc1f423395e4172617fa5b6bc0d7adad2241e5fedd1a4f0a098a67f9dc8e9",
            "4334321cd9ec42de9d51107fb9a6dc310512e0921bc1cff0f390301ee37315fa",
            "2b6b3ef396f4dc7fcdc276fb16b88bb87409b25879dd672b3a506eca844dd8d7",
            "1a40ef8b20aa9e1aa850e1abdaba3efac1f66c98ef2c6a59eadefa21136ece6b",
            "bcddf4ab59eae4c7d47b8a6cec9025a54ec0e6d3f3bdcd7678e201f25ace4642",
            "2b497e12dfc123d7e7c9bb4fc4a82b5bee18409e109a3e3a04da439cacec964d",
            "5c4e110d252d7ad156b2e4cd34b6dbd1cecbcc1755f8d72e932cc2a54f2b643c",
            "80f1531807194d301affbf6f879a4ab4f56a19bdccb62d192e3ecd1b5275f052",
        ),
    ),
    (
        "Twitch/raw/twitch_{}.npz",
        TWITCH_COUNTRIES,
        (
            "b9834593700755179dae0f8ed8439d8955a88af3ac69194b239f03b758227ddc",
            "b29695684d05adf85cd1ac38ed16e54efe1ce6bee0b92749123905c6b8b3a593",
            "aa8aa3c2c014f202532361006892ee7a5c48ad08ee44d6823c69bdcf98b97f5c",
            "412ee43371336559d99930b71a296d9af1c78e87d6dc48911a6dcd1bd169efdd",
            "3646d97da0199fc6412669ba151d475e094ef5a0e48c8ff048aaa386602efee3",
            "6860a6a9a8409ffe16a263a15ae3874994a07ede2c636c658d5039861f3ec052",
            "cf10073a91b368c4f2562d7bbf69769ff1edf5d32179744476a43cc861c38981",
        ),
    ),
)

SHA256: dict[str, str] = {
    pattern.format(part): digest
    for pattern, parts, digests in _GROUPS
    for part, digest in zip(parts, digests, strict=True)
}
"""Path below the data root, with forward slashes, to the sum in hexadecimal."""


def copy_verified(source: Path, target: Path, key: str) -> None:
    """Copy a file of the table and refuse it unless its bytes are the published ones.

    The sum is taken of the bytes that are written, so that the copy, which is what will
    be opened, is the file that was checked, whatever happens to the source meanwhile.

    Args:
        source: The file as found or downloaded.
        target: Where the copy goes; on refusal it is removed again.
        key: Path of the file below a data root, a key of `SHA256`.

    Raises:
        ValueError: If the sum differs; the message names file, expected and found sum.
    """
    digest = hashlib.sha256()
    with source.open("rb") as reader, target.open("wb") as writer:
        while block := reader.read(1 << 20):
            digest.update(block)
            writer.write(block)
    if digest.hexdigest() != SHA256[key]:
        target.unlink()
        raise ValueError(
            f"The file {source} must be the published one with the SHA-256"
            f" {SHA256[key]}, but has {digest.hexdigest()}; it was not opened,"
            f" replace it by a fresh download."
        )
