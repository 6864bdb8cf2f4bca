{-# LANGUAGE DerivingStrategies #-}
{-# LANGUAGE GADTs #-}
{-# LANGUAGE GeneralizedNewtypeDeriving #-}
{-# LANGUAGE KindSignatures #-}
{-# LANGUAGE LambdaCase #-}
{-# LANGUAGE NamedFieldPuns #-}
{-# LANGUAGE ScopedTypeVariables #-}

-- |
-- Module      : Main
-- Description : Plans the work of a small kitchen.
--
-- Every dish is a handful of tasks: some need the oven, some need hands, and
-- most need another task to be finished first. The planner checks the tasks
-- for mistakes, works out which chain of tasks is the longest, and then
-- simulates the kitchen minute by minute.
module Main (main) where

import Control.Monad (foldM, forM_, unless, when)
import Data.Kind (Type)
import Data.List (intercalate, sortOn)
import qualified Data.Map.Lazy as Lazy
import Data.Map.Strict (Map)
import qualified Data.Map.Strict as Map
import Data.Maybe (mapMaybe)
import Data.Ord (Down (..))
import Data.Set (Set)
import qualified Data.Set as Set
import System.Exit (exitFailure)
import System.IO (hPutStrLn, stderr)

newtype Minutes = Minutes Int
  deriving stock (Eq, Ord)
  deriving newtype (Num, Enum, Real, Integral)

-- | Shown as a clock: @Minutes 95@ becomes @1:35@.
instance Show Minutes where
  show (Minutes total) = show hours ++ ":" ++ pad (show rest)
    where
      (hours, rest) = total `divMod` 60
      pad digits = replicate (2 - length digits) '0' ++ digits

newtype TaskId = TaskId {unTaskId :: String}
  deriving stock (Eq, Ord)

instance Show TaskId where
  showsPrec _ (TaskId name) = showChar '‹' . showString name . showChar '›'

data Resource = Cook | Oven | Stove
  deriving stock (Eq, Ord, Show, Enum, Bounded)

data Task = Task
  { taskId :: TaskId
  , duration :: !Minutes
  , needs :: Resource
  , after :: [TaskId]
  }

-- | Everything that can be wrong with a plan before anybody starts to cook.
data PlanError
  = Duplicate TaskId
  | Missing {wantedBy :: TaskId, unknown :: TaskId}
  | Cycle [TaskId]
  | NeverFree Resource
  deriving stock (Eq)

class Pretty a where
  pretty :: a -> String
  prettyList :: [a] -> String
  prettyList = intercalate ", " . map pretty
  {-# MINIMAL pretty #-}

instance Pretty TaskId where
  pretty = unTaskId

instance Pretty PlanError where
  pretty = \case
    Duplicate name -> "there are two tasks called " ++ show name
    Missing {wantedBy, unknown} ->
      pretty wantedBy ++ " waits for " ++ show unknown ++ ", which does not exist"
    Cycle names -> "these tasks wait for each other: " ++ prettyList names
    NeverFree resource -> "nobody brought a " ++ show resource

type Plan = Map TaskId Task

-- | Conditions on a finished schedule. The type index says what a query
-- returns, so that 'runQuery' needs neither tags nor casts.
data Query :: Type -> Type where
  FinishTime :: Query Minutes
  StartOf :: TaskId -> Query (Maybe Minutes)
  BusyFor :: Resource -> Query Minutes
  Both :: Query a -> Query b -> Query (a, b)
  Mapped :: (a -> b) -> Query a -> Query b

data Slot = Slot {slotTask :: Task, start, end :: Minutes}

newtype Schedule = Schedule {slots :: [Slot]}
  deriving newtype (Semigroup, Monoid)

runQuery :: Schedule -> Query a -> a
runQuery schedule@Schedule {slots} = \case
  FinishTime -> maximum (0 : map end slots)
  StartOf name -> Map.lookup name starts
  BusyFor resource ->
    sum [end s - start s | s <- slots, needs (slotTask s) == resource]
  Both left right -> (runQuery schedule left, runQuery schedule right)
  Mapped f query -> f (runQuery schedule query)
  where
    starts = Map.fromList [(taskId (slotTask s), start s) | s <- slots]

-- | Collects the tasks and refuses duplicates, gaps and circles.
validate :: [Task] -> Either PlanError Plan
validate tasks = do
  plan <- foldM insertNew Map.empty tasks
  forM_ tasks $ \task ->
    forM_ (after task) $ \name ->
      unless (name `Map.member` plan) $
        Left Missing {wantedBy = taskId task, unknown = name}
  _ <- foldM (visit plan []) Set.empty (Map.keys plan)
  pure plan
  where
    insertNew plan task
      | taskId task `Map.member` plan = Left (Duplicate (taskId task))
      | otherwise = Right (Map.insert (taskId task) task plan)

-- | Depth-first search; the path is kept to be able to report the cycle.
visit :: Plan -> [TaskId] -> Set TaskId -> TaskId -> Either PlanError (Set TaskId)
visit plan path done name
  | name `elem` path = Left (Cycle (name : takeWhile (/= name) path))
  | name `Set.member` done = Right done
  | otherwise = Set.insert name <$> foldM (visit plan (name : path)) done parents
  where
    parents = maybe [] after (Map.lookup name plan)

-- | Minutes from the start of a task to the end of the last task that
-- (directly or indirectly) waits for it. The map is lazy on purpose: each
-- entry refers to other entries of the same map.
urgency :: Plan -> Map TaskId Minutes
urgency plan = table
  where
    table = Lazy.map (\task -> duration task + longestTail (taskId task)) plan
    longestTail name =
      maximum (0 : [table Lazy.! taskId t | t <- Map.elems plan, name `elem` after t])

-- | List scheduling: whenever something is free, the most urgent task gets it.
simulate :: Map Resource Int -> Plan -> Either PlanError Schedule
simulate capacity plan = do
  forM_ plan $ \task ->
    when (Map.findWithDefault 0 (needs task) capacity <= 0) $
      Left (NeverFree (needs task))
  pure (go 0 [] (sortOn (Down . (urgent Map.!) . taskId) (Map.elems plan)))
  where
    urgent = urgency plan

    go :: Minutes -> [Slot] -> [Task] -> Schedule
    go _ placed [] = Schedule (reverse placed)
    go now placed waiting = go (nextEvent now placed') placed' waiting'
      where
        (placed', waiting') = foldl (tryStart now) (placed, []) waiting

    tryStart now (placed, skipped) task
      | ready && free = (Slot task now (now + duration task) : placed, skipped)
      | otherwise = (placed, skipped ++ [task])
      where
        finished = Set.fromList [taskId (slotTask s) | s <- placed, end s <= now]
        ready = all (`Set.member` finished) (after task)
        inUse = length [() | s <- placed, end s > now, needs (slotTask s) == needs task]
        free = inUse < Map.findWithDefault 0 (needs task) capacity

    nextEvent now placed = case filter (> now) (map end placed) of
      [] -> now + 1
      times -> minimum times

sundayDinner :: [Task]
sundayDinner =
  [ "peel potatoes" `takes` 15 $ Cook
  , "boil potatoes" `takes` 25 $ Stove
  , "season chicken" `takes` 10 $ Cook
  , "roast chicken" `takes` 70 $ Oven
  , "bake crème brûlée" `takes` 40 $ Oven
  , "make gravy" `takes` 12 $ Stove
  ]
    `waitingFor` [ ("boil potatoes", "peel potatoes")
                 , ("roast chicken", "season chicken")
                 , ("make gravy", "roast chicken")
                 ]
  where
    takes name minutes resource = Task (TaskId name) minutes resource []
    waitingFor tasks pairs =
      [task {after = mapMaybe (parentOf task) pairs} | task <- tasks]
    parentOf task (child, parent)
      | TaskId child == taskId task = Just (TaskId parent)
      | otherwise = Nothing

main :: IO ()
main = do
  let capacity = Map.fromList [(Cook, 1), (Oven, 1), (Stove, 2)]
  case validate sundayDinner >>= simulate capacity of
    Left problem -> do
      hPutStrLn stderr ("kitchen: " ++ pretty problem)
      exitFailure
    Right schedule -> do
      forM_ (sortOn start (slots schedule)) $ \Slot {slotTask, start, end} ->
        putStrLn (show start ++ " – " ++ show end ++ "  " ++ pretty (taskId slotTask))
      -- TODO: say how much earlier dinner would be with a second oven
      let ovenShare = Mapped percent (Both (BusyFor Oven) FinishTime)
          percent (busy, total) = 100 * fromIntegral busy / fromIntegral (max 1 total)
      putStrLn $ "oven in use: " ++ show (round (runQuery schedule ovenShare :: Double) :: Int) ++ "%"
      print (runQuery schedule (StartOf (TaskId "make gravy")))
