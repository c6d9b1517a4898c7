import Graph from "graphology";
import Sigma from "sigma";
import { EdgeProgram, NodeProgram } from "sigma/rendering";
import { floatColor } from "sigma/utils";

export { EdgeProgram, Graph, NodeProgram, Sigma, floatColor };
